import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Authorizer } from "./authorizer.ts";
import type { ResultSize, SqlRow } from "./result-size.ts";
import { SqlError, toSqlError } from "./sql-error.ts";
import { countParameters, isBlank, requireSqlText } from "./sql-text.ts";
import { fromStored, type SqlValue, type StoredValue } from "./sql-value.ts";

export interface SqlResult {
  readonly rows: readonly SqlRow[];
  /** Rows inserted, updated or deleted by the statement itself; what triggers changed is not counted. */
  readonly rowsWritten: number;
}

/** AN-A15. */
const COLUMNS_MAX = 100;
const COLUMN_NAME_BYTES_MAX = 128;
/** Statements kept per store; a few kilobytes each. */
const STATEMENTS_MAX = 64;

/** One tenant's statement, compiled and found permissible. */
export interface PreparedSql {
  readonly statement: StatementSync;
  readonly parameters: number;
  readonly columns: readonly string[];
  /** It changes rows or the schema, so it needs a transaction. */
  readonly writes: boolean;
  readonly writesRows: boolean;
  readonly changesSchema: boolean;
  readonly alters: boolean;
}

/** The counts of rows changed, as SQLite keeps them for a connection. */
export interface ChangeCounts {
  readonly last: number;
  readonly total: number;
}

/** Compiles statements under the tenant's rules and keeps the ones used last. */
export class PreparedSqlCache {
  readonly #database: DatabaseSync;
  readonly #authorizer: Authorizer;
  readonly #kept = new Map<string, PreparedSql>();

  constructor(database: DatabaseSync, authorizer: Authorizer) {
    this.#database = database;
    this.#authorizer = authorizer;
  }

  /** Compile `sql`, exactly one statement. Throws TypeError or an SqlError; nothing has run then. */
  get(sql: unknown): PreparedSql {
    requireSqlText(sql);
    const kept = this.#kept.get(sql);
    if (kept !== undefined) {
      // Back to the end, which is where the used ones are.
      this.#kept.delete(sql);
      this.#kept.set(sql, kept);
      return kept;
    }
    const prepared = this.#prepare(sql);
    if (this.#kept.size >= STATEMENTS_MAX) {
      for (const oldest of this.#kept.keys()) {
        this.#kept.delete(oldest);
        break;
      }
    }
    this.#kept.set(sql, prepared);
    return prepared;
  }

  /** Forget all: after a change of the schema, names of columns and effects may be others. */
  clear(): void {
    this.#kept.clear();
  }

  /** The first statement of `sql`, and the part of the text that is its own. */
  #compile(sql: string): { readonly statement: StatementSync; readonly own: string } {
    try {
      const statement = this.#authorizer.tenant(() => this.#database.prepare(sql));
      return { statement, own: statement.sourceSQL };
    } catch (error) {
      // How the platform says that there was nothing to compile.
      const empty = error instanceof Error && "code" in error && error.code === "ERR_INVALID_STATE";
      throw empty ? new SqlError("invalid_sql", "the SQL holds no statement") : toSqlError(error);
    }
  }

  #prepare(sql: string): PreparedSql {
    if (isBlank(sql)) throw new SqlError("invalid_sql", "the SQL holds no statement");
    const { statement, own } = this.#compile(sql);
    const { writesRows, changesSchema, alters } = this.#authorizer.effects;
    if (!isBlank(sql.slice(own.length))) {
      throw new SqlError("invalid_sql", "the SQL holds more than one statement");
    }
    const columns = statement.columns().map(({ name }) => name);
    requireColumns(columns);
    const writes = writesRows || changesSchema;
    return { statement, parameters: countParameters(sql), columns, writes, writesRows, changesSchema, alters };
  }
}

/**
 * Run a statement to its end and take all of its rows. Throws as `toSqlError` says; the caller rolls back.
 * `counts` asks for SQLite's counts of changed rows.
 */
export function runPrepared(
  prepared: PreparedSql,
  values: readonly StoredValue[],
  size: ResultSize,
  counts: () => ChangeCounts,
): SqlResult {
  const { statement, columns, writes, writesRows, changesSchema } = prepared;
  const rows: SqlRow[] = [];
  size.begin(rows);
  if (columns.length === 0) {
    const { changes } = statement.run(...(values as never[]));
    // For anything else SQLite repeats the count of the statement before.
    return { rows, rowsWritten: writesRows && !changesSchema ? Number(changes) : 0 };
  }
  const before = writes ? counts().total : 0;
  // The database hands rows out as arrays.
  const iterator = statement.iterate(...(values as never[])) as unknown as IterableIterator<readonly StoredValue[]>;
  for (const stored of iterator) {
    const row = Object.create(null) as Record<string, SqlValue>;
    for (const [index, name] of columns.entries()) row[name] = fromStored(stored[index] ?? null);
    rows.push(row);
    size.add(row);
  }
  if (!writes) return { rows, rowsWritten: 0 };
  const after = counts();
  return { rows, rowsWritten: after.total === before ? 0 : after.last };
}

function requireColumns(columns: readonly string[]): void {
  if (columns.length > COLUMNS_MAX) {
    throw new SqlError("result_too_large", `a result has more than ${COLUMNS_MAX} columns`);
  }
  if (new Set(columns).size !== columns.length) {
    throw new SqlError("invalid_sql", "two columns of the result have the same name");
  }
  if (columns.some((name) => Buffer.byteLength(name) > COLUMN_NAME_BYTES_MAX)) {
    throw new SqlError("result_too_large", `the name of a column has more than ${COLUMN_NAME_BYTES_MAX} bytes`);
  }
}
