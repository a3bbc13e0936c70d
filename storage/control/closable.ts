import type { Database, Statement } from "bun:sqlite";

/**
 * Makes `database` closable: SQLite keeps a closed file open and locked as long as a prepared statement lives, and the
 * query library never finalizes one. Call it before anything is prepared; the returned function finalizes every
 * statement and closes the file.
 */
export function closable(database: Database): () => void {
  const statements: Pick<Statement, "finalize">[] = [];
  const prepare = database.prepare.bind(database);
  database.prepare = ((sql, params) => {
    const statement = params === undefined ? prepare(sql) : prepare(sql, params);
    statements.push(statement);
    return statement;
  }) as Database["prepare"];
  return () => {
    for (const statement of statements.splice(0)) statement.finalize();
    database.close();
  };
}
