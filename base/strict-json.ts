// Strict JSON (HA-19) and mathematical equality of JSON values (HA-116).
//
// lossless-json does the parsing and keeps every number as it was written. What RFC 8259 merely recommends and the
// contract demands is checked here: well-formed UTF-8 and strings, no duplicate key at any depth, no number beyond
// double range, no byte order mark. Nesting is bounded before the recursive parser sees the text.
import { LosslessNumber, parse } from "lossless-json";
import { numberAsWritten } from "./exact-number.ts";
import type { Json, JsonObject } from "./json.ts";

/** Containers inside containers; deeper texts are refused. */
export const JSON_DEPTH_MAX = 64;

/** Digits of an exponent. No sender means more, and arithmetic on it stays trivial. */
const EXPONENT_DIGITS_MAX = 100;

/** The text is not strict JSON. The message names the rule and never quotes the text, which may hold secrets. */
export class StrictJsonError extends Error {
  override readonly name = "StrictJsonError";
}

/** A JSON value with its numbers as they were written. */
type Exact = null | boolean | string | LosslessNumber | readonly Exact[] | { readonly [key: string]: Exact };

/** One parsed text: the plain value, and a form in which equal values have equal texts. */
export interface StrictJson {
  /** Numbers as doubles; one that no double stands for stays an opaque ExactNumber, so that nothing gets rounded. */
  readonly value: Json;
  /**
   * Two texts have the same canonical form exactly when they are equal under HA-116: object keys in code unit order,
   * numbers by mathematical value, no whitespace. `without` leaves out members of a top-level object.
   */
  canonical(without?: readonly string[]): string;
}

/** Parse UTF-8 `bytes` as strict JSON. Throws StrictJsonError. Keeps HA-19. */
export function parseStrictJson(bytes: Uint8Array): Json {
  return plain(parseExact(bytes));
}

/** As parseStrictJson, and keeps what is needed to compare by mathematical value. Keeps HA-19, HA-116. */
export function readStrictJson(bytes: Uint8Array): StrictJson {
  const exact = parseExact(bytes);
  return {
    value: plain(exact),
    canonical: (without = []) => (isExactObject(exact) ? canonicalObject(exact, without) : canonicalValue(exact)),
  };
}

function parseExact(bytes: Uint8Array): Exact {
  const text = decode(bytes);
  const members = countMembers(text);
  let exact: Exact;
  try {
    exact = parse(text, null, { parseNumber: exactNumber, onDuplicateKey: refuseDuplicate }) as Exact;
  } catch (error) {
    if (error instanceof StrictJsonError) throw error;
    throw new StrictJsonError(`the text is not valid JSON${positionOf(error)}`);
  }
  // The parser lets a repeated key pass when both values are equal, so members are counted on both sides.
  if (inspect(exact) !== members) throw refuseDuplicate();
  return exact;
}

function decode(bytes: Uint8Array): string {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new StrictJsonError("the text is not valid UTF-8");
  }
  if (text.startsWith("\ufeff")) throw new StrictJsonError("the text starts with a byte order mark");
  return text;
}

/** How many object members the text has: in valid JSON every colon outside a string starts one. Bounds the depth. */
function countMembers(text: string): number {
  let members = 0;
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case 0x22: // a string: skip to its end
        for (i++; i < text.length && text.charCodeAt(i) !== 0x22; i++) if (text.charCodeAt(i) === 0x5c) i++;
        break;
      case 0x3a:
        members++;
        break;
      case 0x5b:
      case 0x7b:
        depth++;
        if (depth > JSON_DEPTH_MAX) throw new StrictJsonError(`the text nests deeper than ${JSON_DEPTH_MAX} levels`);
        break;
      case 0x5d:
      case 0x7d:
        depth--;
        break;
    }
  }
  return members;
}

/** Counts the members that arrived, and refuses strings that are no Unicode text. */
function inspect(value: Exact): number {
  if (typeof value === "string") {
    requireWellFormed(value);
    return 0;
  }
  if (Array.isArray(value)) return (value as readonly Exact[]).reduce<number>((sum, item) => sum + inspect(item), 0);
  if (!isExactObject(value)) return 0;
  let members = 0;
  for (const [key, member] of Object.entries(value)) {
    requireWellFormed(key);
    members += 1 + inspect(member);
  }
  return members;
}

function requireWellFormed(text: string): void {
  if (!text.isWellFormed()) throw new StrictJsonError("a string holds half of a surrogate pair");
}

function exactNumber(text: string): LosslessNumber {
  if (!Number.isFinite(Number(text))) throw new StrictJsonError("a number is too large");
  if ((/[eE][+-]?(\d+)$/.exec(text)?.[1]?.length ?? 0) > EXPONENT_DIGITS_MAX) {
    throw new StrictJsonError("the exponent of a number is too long");
  }
  return new LosslessNumber(text);
}

function refuseDuplicate(): never {
  throw new StrictJsonError("an object has the same key twice");
}

function positionOf(error: unknown): string {
  const position = error instanceof Error ? /position (\d+)$/.exec(error.message)?.[1] : undefined;
  return position === undefined ? "" : ` (at character ${position})`;
}

function isExactObject(value: Exact): value is { readonly [key: string]: Exact } {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof LosslessNumber);
}

function plain(value: Exact): Json {
  if (value instanceof LosslessNumber) return plainNumber(value.value);
  if (Array.isArray(value)) return (value as readonly Exact[]).map(plain);
  if (!isExactObject(value)) return value as Json;
  // fromEntries defines own properties, so that a key named __proto__ stays a key.
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)])) as JsonObject;
}

function plainNumber(text: string): Json {
  const value = Number(text);
  // Fifteen digits always survive the way through a double and back.
  if (/^[-.\d]{1,15}$/.test(text)) return value;
  const survives = canonicalNumber(text) === canonicalNumber(String(value));
  return survives ? value : (numberAsWritten(text) as unknown as Json);
}

function canonicalValue(value: Exact): string {
  if (value instanceof LosslessNumber) return canonicalNumber(value.value);
  if (Array.isArray(value)) return `[${(value as readonly Exact[]).map(canonicalValue).join(",")}]`;
  if (isExactObject(value)) return canonicalObject(value, []);
  return JSON.stringify(value);
}

function canonicalObject(value: { readonly [key: string]: Exact }, without: readonly string[]): string {
  const members: string[] = [];
  for (const key of Object.keys(value).sort()) {
    const member = value[key];
    if (member !== undefined && !without.includes(key))
      members.push(`${JSON.stringify(key)}:${canonicalValue(member)}`);
  }
  return `{${members.join(",")}}`;
}

/** `1`, `1.0`, `10e-1` and `0.1E1` all become `1e0`; `-0` becomes `0`. The text is a valid JSON number. */
export function canonicalNumber(text: string): string {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const digits = stripLeadingZeros(whole + fraction);
  if (digits === "") return "0";
  const significant = stripTrailingZeros(digits);
  const power = BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - significant.length);
  return `${sign}${significant}e${power}`;
}

function stripLeadingZeros(digits: string): string {
  let start = 0;
  while (digits.charCodeAt(start) === 0x30) start++;
  return digits.slice(start);
}

// A loop, not /0+$/, whose backtracking is quadratic on long runs of zeros.
function stripTrailingZeros(digits: string): string {
  let end = digits.length;
  while (digits.charCodeAt(end - 1) === 0x30) end--;
  return digits.slice(0, end);
}
