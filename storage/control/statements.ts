// Prepared statements over a drizzle table. Every statement of the control store is compiled once, at open.
import { type Column, getTableColumns, type SQL, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";

export type Db = BunSQLiteDatabase;

/** A value that is given when the statement runs. */
export const given = (name: string) => sql.placeholder(name);

/** Inserts a whole row, or replaces the one with the same primary key `key`. */
export function prepareUpsert(db: Db, table: SQLiteTable, key: readonly Column[]): (row: object) => void {
  const columns = getTableColumns(table);
  const values: Record<string, unknown> = {};
  const excluded: Record<string, SQL> = {};
  for (const [property, column] of Object.entries(columns)) {
    values[property] = given(property);
    if (!key.includes(column)) excluded[property] = sql`excluded.${sql.identifier(column.name)}`;
  }
  const insert = db.insert(table).values(values);
  const target = key as Parameters<typeof insert.onConflictDoUpdate>[0]["target"];
  const statement = (
    Object.keys(excluded).length === 0
      ? insert.onConflictDoNothing({ target })
      : insert.onConflictDoUpdate({ target, set: excluded })
  ).prepare();
  return (row) => {
    statement.run({ ...row });
  };
}
