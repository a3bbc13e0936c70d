// The grammar of plain variables: JSON of bounded depth and size that becomes a part of `env` (WV-21, WV-32, WV-36, WV-37).
import { isExactNumber } from "../../../base/exact-number.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../base/json.ts";
import { echo } from "../read-spec.ts";

/** WV-21, WV-37: keys of `vars`, and elements or keys of any container inside. */
const ELEMENTS_MAX = 64;
/** WV-37, WV-A2: containers inside one variable's value; a scalar has depth 0. */
const DEPTH_MAX = 8;
/** WV-37: Unicode scalar values. */
const STRING_SCALARS_MAX = 8192;
/** WV-32. */
const KEY = /^[A-Za-z][A-Za-z0-9._-]{0,63}$/;

export interface VarFault {
  readonly path: readonly (string | number)[];
  /** Continues a sentence that begins with the field's name. */
  readonly message: string;
}

/** The first fault of `vars`, or null. */
export function faultOfVars(vars: JsonObject): VarFault | null {
  const own = faultOfKeys(vars, []);
  if (own !== null) return own;
  for (const [key, value] of Object.entries(vars)) {
    const fault = faultOfValue(value, [key], 0);
    if (fault !== null) return fault;
  }
  return null;
}

function faultOfValue(value: Json, path: readonly (string | number)[], depth: number): VarFault | null {
  if (value === null || typeof value === "boolean" || isExactNumber(value)) return null;
  if (typeof value === "number") return Number.isFinite(value) ? null : { path, message: "must be a finite number" };
  if (typeof value === "string") return faultOfString(value, path);
  if (depth === DEPTH_MAX) return { path, message: `must not nest deeper than ${DEPTH_MAX} levels` };
  const fault = isJsonObject(value) ? faultOfKeys(value, path) : faultOfLength(value.length, path);
  if (fault !== null) return fault;
  const entries = isJsonObject(value) ? Object.entries(value) : value.map((it, index) => [index, it] as const);
  for (const [step, inner] of entries) {
    const found = faultOfValue(inner, [...path, step], depth + 1);
    if (found !== null) return found;
  }
  return null;
}

function faultOfKeys(value: JsonObject, path: readonly (string | number)[]): VarFault | null {
  const keys = Object.keys(value);
  for (const key of keys) {
    if (!KEY.test(key)) {
      const message = `has the key ${echo(key)}; a key is a letter and up to 63 letters, digits, '.', '_' or '-'`;
      return { path, message };
    }
  }
  return faultOfLength(keys.length, path);
}

function faultOfLength(length: number, path: readonly (string | number)[]): VarFault | null {
  return length <= ELEMENTS_MAX ? null : { path, message: `must have at most ${ELEMENTS_MAX} elements` };
}

function faultOfString(value: string, path: readonly (string | number)[]): VarFault | null {
  if (!value.isWellFormed()) return { path, message: "must be a string of Unicode scalar values" };
  // A scalar takes one or two code units, so most strings need no count.
  if (value.length <= STRING_SCALARS_MAX) return null;
  if (value.length <= STRING_SCALARS_MAX * 2 && Array.from(value).length <= STRING_SCALARS_MAX) return null;
  return { path, message: `must have at most ${STRING_SCALARS_MAX} characters` };
}

/** The values as a Worker sees them: every number becomes the nearest double, as JavaScript reads it. */
export function projectVars(vars: JsonObject): JsonObject {
  return project(vars) as JsonObject;
}

function project(value: Json): Json {
  if (isExactNumber(value)) return Number(value.rawJSON);
  if (Array.isArray(value)) return (value as readonly Json[]).map(project);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, project(inner)]));
}
