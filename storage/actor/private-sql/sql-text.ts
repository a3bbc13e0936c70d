// The little that must be known about a statement's text and that SQLite does not tell: how many values it takes, and
// whether anything follows it. Tokens are told apart as SQLite's own tokenizer does; whether the text makes sense is
// left to SQLite.
import { SqlError } from "./sql-error.ts";
import { exceedsCharacters } from "./sql-value.ts";

/** AN-88. Unicode scalar values. */
const SQL_CHARACTERS_MAX = 100_000;

/** Throws TypeError for what is no text, and `invalid_sql` for one that no statement can have. */
export function requireSqlText(sql: unknown): asserts sql is string {
  if (typeof sql !== "string") throw new TypeError("the SQL of a statement is a string");
  if (sql.length === 0) throw new SqlError("invalid_sql", "the SQL is empty");
  if (!sql.isWellFormed()) throw new TypeError("the SQL holds half of a surrogate pair");
  if (exceedsCharacters(sql, SQL_CHARACTERS_MAX)) throw new SqlError("invalid_sql", "the SQL is too long");
  // SQLite takes it for the end of the text.
  if (sql.includes("\0")) throw new SqlError("invalid_sql", "the SQL holds a NUL character");
}

/** Blanks, comments, quoted things, numbers and words, placeholders; any other character is one token. */
const TOKEN =
  /[ \t\n\f\r\ufeff]+|--[^\n]*|\/\*(?=[^])[^]*?(?:\*\/|$)|'(?:[^']|'')*'?|"(?:[^"]|"")*"?|`(?:[^`]|``)*`?|\[[^\]]*\]?|[\w$\u0080-\uffff]+|\?\d*|[@#:]+[\w$\u0080-\uffff]*|[^]/g;

/** Whether `text` is nothing but blanks and comments. */
export function isBlank(text: string): boolean {
  for (const [token] of text.matchAll(TOKEN)) if (!/^(?:[ \t\n\f\r\ufeff]|--|\/\*)/.test(token)) return false;
  return true;
}

/**
 * How many values the statement takes: `?` takes the next one, `?N` the Nth (AN-A16). Throws `invalid_sql` for named
 * placeholders, which have no place in a list of values.
 */
export function countParameters(sql: string): number {
  let count = 0;
  for (const [token] of sql.matchAll(TOKEN)) {
    const first = token[0];
    if (first === "?") count = token.length === 1 ? count + 1 : Math.max(count, Number(token.slice(1)));
    else if (first === "@" || first === ":" || first === "$" || first === "#") {
      throw new SqlError("invalid_sql", "placeholders are written ? or ?1, not by name");
    }
  }
  return count;
}
