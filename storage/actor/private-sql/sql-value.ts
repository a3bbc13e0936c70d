// The values that cross between an actor and its store (AN-90, AN-91, AN-A14, AN-A31).
import { SqlError } from "./sql-error.ts";

export interface SqlBytes {
  readonly encoding: "base64";
  readonly data: string;
}

export type SqlValue = null | number | string | SqlBytes;

/** What SQLite takes and gives. Whole numbers travel as bigint, which it keeps exactly and as integers. */
export type StoredValue = null | number | bigint | string | Uint8Array;

/** Unicode scalar values. */
export const STRING_CHARACTERS_MAX = 1_000_000;
export const VALUE_BYTES_MAX = 1_000_000;

/** A parameter as SQLite takes it. Throws TypeError, `numeric_out_of_range`, or `invalid_sql` for one that is too large. */
export function toStored(value: unknown): StoredValue {
  switch (typeof value) {
    case "number":
      return storedNumber(value);
    case "string":
      return storedString(value);
    case "object":
      return value === null ? null : storedBytes(value);
    default:
      throw new TypeError(`a parameter is null, a number, a string or a base64 object, not a ${typeof value}`);
  }
}

/** A result value as the actor sees it. Throws `numeric_out_of_range` or `result_too_large`. */
export function fromStored(value: StoredValue): SqlValue {
  if (value === null) return null;
  if (typeof value === "string") {
    if (isTooLong(value)) throw new SqlError("result_too_large", "a string of the result is too long");
    return value;
  }
  if (typeof value === "object") {
    if (value.length > VALUE_BYTES_MAX)
      throw new SqlError("result_too_large", "a value of the result has too many bytes");
    return { encoding: "base64", data: Buffer.from(value.buffer, value.byteOffset, value.length).toString("base64") };
  }
  const number = Number(value);
  if (!(Math.abs(number) <= Number.MAX_SAFE_INTEGER)) throw outOfRange();
  // There is one zero (SQLite's -0.0 is a zero too).
  return number === 0 ? 0 : number;
}

/** Whether a text has more scalar values than the limit. `text` is well-formed. */
export function exceedsCharacters(text: string, charactersMax: number): boolean {
  if (text.length <= charactersMax) return false;
  if (text.length > charactersMax * 2) return true;
  let characters = text.length;
  for (let i = 0; i < text.length; i++) {
    // The first half of a pair; its second half is not counted.
    if ((text.charCodeAt(i) & 0xfc00) === 0xd800) characters--;
  }
  return characters > charactersMax;
}

function isTooLong(text: string): boolean {
  return exceedsCharacters(text, STRING_CHARACTERS_MAX);
}

function storedNumber(value: number): StoredValue {
  if (!(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) throw outOfRange();
  return Number.isInteger(value) ? BigInt(value) : value;
}

function storedString(value: string): string {
  if (!value.isWellFormed()) throw new TypeError("a string holds half of a surrogate pair");
  if (isTooLong(value)) throw new SqlError("invalid_sql", "a string parameter is too long");
  return value;
}

function storedBytes(value: object): Uint8Array {
  const keys = Object.keys(value);
  const { encoding, data } = value as Partial<SqlBytes>;
  const fits = keys.length === 2 && keys.includes("encoding") && keys.includes("data") && !Array.isArray(value);
  if (!fits || encoding !== "base64" || typeof data !== "string") {
    throw new TypeError('a parameter that is an object is {"encoding":"base64","data":…} and nothing else');
  }
  const bytes = Buffer.from(data, "base64");
  // The lenient decoder passes what the one right spelling of the same bytes would not.
  if (bytes.toString("base64") !== data) throw new TypeError("the data of a base64 object is no padded base64");
  if (bytes.length > VALUE_BYTES_MAX) throw new SqlError("invalid_sql", "a bytes parameter is too large");
  return bytes;
}

function outOfRange(): SqlError {
  return new SqlError("numeric_out_of_range", "a number lies outside -9007199254740991 … 9007199254740991");
}
