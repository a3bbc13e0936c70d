import { isExactNumber } from "../../base/exact-number.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import { canonicalNumber } from "../../base/strict-json.ts";

/**
 * Equality of JSON values: object keys in any order, array order significant, strings by scalar sequence without
 * Unicode normalisation, numbers by mathematical value (WV-41, WV-42).
 */
export function sameJson(a: Json, b: Json): boolean {
  const [x, y] = [numberText(a), numberText(b)];
  if (x !== null || y !== null) return x !== null && y !== null && canonicalNumber(x) === canonicalNumber(y);
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  if (Array.isArray(a) || Array.isArray(b)) return sameArray(a, b);
  return sameObject(a as JsonObject, b as JsonObject);
}

function sameArray(a: Json, b: Json): boolean {
  if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
  return (a as readonly Json[]).every((it, index) => sameJson(it, (b as readonly Json[])[index] ?? null));
}

function sameObject(a: JsonObject, b: JsonObject): boolean {
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && sameJson(a[key] ?? null, b[key] ?? null));
}

function numberText(value: Json): string | null {
  if (typeof value === "number") return String(value);
  return isExactNumber(value) ? value.rawJSON : null;
}
