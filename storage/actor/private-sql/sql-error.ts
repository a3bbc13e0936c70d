// The failures of an actor's private SQL, as its code sees them (AN-92 … AN-98).

export type SqlErrorName =
  | "invalid_sql"
  | "constraint_violation"
  | "numeric_out_of_range"
  | "result_too_large"
  | "storage_full"
  | "busy"
  | "backend_unavailable";

/** `name` is what the contract fixes; `code` equals it (AN-A13). Nothing of the call has taken effect. */
export class SqlError extends Error {
  override readonly name: SqlErrorName;
  readonly code: SqlErrorName;

  constructor(name: SqlErrorName, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = name;
    this.code = name;
  }
}

/** The primary result codes of SQLite that tell something of their own; all others are `backend_unavailable`. */
const NAMES: Readonly<Record<number, SqlErrorName>> = {
  1: "invalid_sql", // ERROR
  5: "busy", // BUSY
  6: "busy", // LOCKED
  13: "storage_full", // FULL
  18: "result_too_large", // TOOBIG
  19: "constraint_violation", // CONSTRAINT
  20: "constraint_violation", // MISMATCH
  23: "invalid_sql", // AUTH
  25: "invalid_sql", // RANGE
};

const MESSAGES: Readonly<Record<SqlErrorName, string>> = {
  invalid_sql: "the statement is not allowed in an actor's private store",
  constraint_violation: "a constraint failed",
  numeric_out_of_range: "a number lies outside the safe integer range",
  result_too_large: "a value is too large",
  storage_full: "the actor's store has reached its size limit",
  busy: "the store is in use; the call may be repeated",
  backend_unavailable: "the store cannot be used at the moment",
};

/** What SQLite or a TypeError of our own said, as the contract names it. Goes by SQLite's code, never by its words. */
export function toSqlError(error: unknown): Error {
  if (error instanceof SqlError || error instanceof TypeError) return error;
  const code = resultCode(error);
  const name = NAMES[code] ?? "backend_unavailable";
  // Only where SQLite speaks of the statement's own text do its words help; they never name a file.
  const speaks = (code === 1 || code === 19) && error instanceof Error;
  return new SqlError(name, speaks ? error.message : MESSAGES[name], error);
}

/** The primary result code of an error of SQLite; 0 for anything else. */
export function resultCode(error: unknown): number {
  const code = error instanceof Error && "errcode" in error ? error.errcode : 0;
  return typeof code === "number" ? code & 0xff : 0;
}
