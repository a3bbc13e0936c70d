import { SqlError } from "./sql-error.ts";
import type { SqlValue } from "./sql-value.ts";

export type SqlRow = Readonly<Record<string, SqlValue>>;

/** AN-A15. */
const ROWS_MAX = 10_000;
const ROW_JSON_BYTES_MAX = 2_000_000;
const CALL_JSON_BYTES_MAX = 8_388_608;
/** `{"rows":[],"rowsWritten":9007199254740991}` and a comma. */
const RESULT_JSON_BYTES = 44;

/**
 * Adds up how large a call's answer is, as JSON in UTF-8. An upper bound is enough as long as it fits; the exact sum is
 * worked out only when the bound does not.
 */
export class ResultSize {
  #bytes = RESULT_JSON_BYTES;
  #exact = false;
  readonly #results: SqlRow[][] = [];

  /** Begin the result of one more statement, whose rows will stand in `rows`. */
  begin(rows: SqlRow[]): void {
    this.#results.push(rows);
    this.#bytes += RESULT_JSON_BYTES;
  }

  /** Count `row`, the last one of the current rows. Throws `result_too_large` (AN-95). */
  add(row: SqlRow): void {
    const rows = this.#results.at(-1);
    if (rows !== undefined && rows.length > ROWS_MAX) throw tooLarge(`a result has more than ${ROWS_MAX} rows`);
    let bytes = this.#exact ? jsonBytes(row) : bound(row);
    if (bytes > ROW_JSON_BYTES_MAX && !this.#exact) bytes = jsonBytes(row);
    if (bytes > ROW_JSON_BYTES_MAX) throw tooLarge("a row of the result is too large");
    this.#bytes += bytes + 1;
    if (this.#bytes > CALL_JSON_BYTES_MAX && !this.#exact) {
      this.#exact = true;
      this.#bytes = this.#results.reduce((sum, one) => sum + RESULT_JSON_BYTES + jsonBytes(one), RESULT_JSON_BYTES);
    }
    if (this.#bytes > CALL_JSON_BYTES_MAX) throw tooLarge("the answer of the call is too large");
  }
}

/** Never less than the row's JSON has. */
function bound(row: SqlRow): number {
  let bytes = 2;
  for (const name in row) {
    const value = row[name];
    bytes += name.length * 6 + 4;
    if (typeof value === "string") bytes += value.length * 6 + 2;
    else if (typeof value === "object" && value !== null) bytes += value.data.length + 32;
    else bytes += 25;
  }
  return bytes;
}

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function tooLarge(message: string): SqlError {
  return new SqlError("result_too_large", message);
}
