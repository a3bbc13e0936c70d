// What an actor can do with its store: execute, query, transaction (AN-83 … AN-86).
//
//   T1. A call takes effect as a whole or not at all, and only after all of its rows have been taken and measured.
//   T2. `query` leaves no effect, whatever its statement does.
//   T3. Everything that can be refused by looking at the arguments is refused before the first statement runs.
import {
  type ChangeCounts,
  type PreparedSql,
  type PreparedSqlCache,
  runPrepared,
  type SqlResult,
} from "./prepared-sql.ts";
import { ResultSize } from "./result-size.ts";
import { SqlError } from "./sql-error.ts";
import { requireSqlText } from "./sql-text.ts";
import { type StoredValue, toStored } from "./sql-value.ts";

/** AN-89, AN-85. */
const PARAMETERS_MAX = 100;
const STATEMENTS_MAX = 100;

/** The connection under the SQL, as far as transactions go. */
export interface SqlConnection {
  readonly statements: PreparedSqlCache;
  /** Run `work` as the tenant's, in no transaction: it only reads. */
  read<T>(work: () => T): T;
  /** Run `work` as the tenant's in one transaction; committed when it returns, rolled back when it throws. */
  write<T>(work: () => T, change: "rows" | "schema"): T;
  /** As `write`, but rolled back in any case. */
  attempt<T>(work: () => T, change: "rows" | "schema"): T;
  /** Run the step of an ALTER, inside one of the above. */
  altering<T>(work: () => T): T;
  counts(): ChangeCounts;
}

interface Bound {
  readonly prepared: PreparedSql;
  readonly values: readonly StoredValue[];
}

export class PrivateSql {
  readonly #connection: SqlConnection;

  constructor(connection: SqlConnection) {
    this.#connection = connection;
  }

  /** Run one statement and commit its effect. Throws TypeError or an SqlError; nothing has changed then. */
  execute(sql: unknown, params?: unknown): SqlResult {
    const bound = this.#bind(sql, params);
    const { writes, changesSchema } = bound.prepared;
    const run = (): SqlResult => this.#run(bound, new ResultSize());
    return writes ? this.#connection.write(run, changesSchema ? "schema" : "rows") : this.#connection.read(run);
  }

  /** Run one statement and take its effect back, should it have one (T2). Throws as `execute` does. */
  query(sql: unknown, params?: unknown): SqlResult {
    const bound = this.#bind(sql, params);
    const { writes, changesSchema } = bound.prepared;
    const run = (): SqlResult => this.#run(bound, new ResultSize());
    const change = changesSchema ? "schema" : "rows";
    const { rows } = writes ? this.#connection.attempt(run, change) : this.#connection.read(run);
    return { rows, rowsWritten: 0 };
  }

  /** Run 1..100 statements as one unit. Throws as `execute` does. */
  transaction(statements: unknown): { readonly results: readonly SqlResult[] } {
    const list = statementList(statements);
    const size = new ResultSize();
    const run = (): SqlResult[] =>
      // Compiled one by one: a statement may need what the one before it has created.
      list.map(({ sql, values }) => this.#run({ prepared: this.#prepare(sql, values), values }, size));
    return { results: this.#connection.write(run, "schema") };
  }

  #bind(sql: unknown, params: unknown): Bound {
    const values = parameterList(params);
    return { prepared: this.#prepare(sql, values), values };
  }

  #prepare(sql: unknown, values: readonly StoredValue[]): PreparedSql {
    const prepared = this.#connection.statements.get(sql);
    if (prepared.parameters !== values.length) {
      throw new SqlError("invalid_sql", `the statement takes ${prepared.parameters} values, not ${values.length}`);
    }
    return prepared;
  }

  #run({ prepared, values }: Bound, size: ResultSize): SqlResult {
    const step = (): SqlResult => runPrepared(prepared, values, size, () => this.#connection.counts());
    const result = prepared.alters ? this.#connection.altering(step) : step();
    if (prepared.changesSchema) this.#connection.statements.clear();
    return result;
  }
}

function parameterList(params: unknown): StoredValue[] {
  if (params === undefined) return [];
  if (!Array.isArray(params)) throw new TypeError("the parameters are an array");
  if (params.length > PARAMETERS_MAX) throw new TypeError(`a statement takes at most ${PARAMETERS_MAX} parameters`);
  // Array.from sees the holes too, as undefined, which is refused.
  return Array.from(params as readonly unknown[], toStored);
}

function statementList(statements: unknown): { readonly sql: unknown; readonly values: StoredValue[] }[] {
  if (!Array.isArray(statements)) throw new TypeError("a transaction takes an array of statements");
  if (statements.length < 1 || statements.length > STATEMENTS_MAX) {
    throw new TypeError(`a transaction has 1 to ${STATEMENTS_MAX} statements`);
  }
  return Array.from(statements as readonly unknown[], (statement) => {
    if (typeof statement !== "object" || statement === null || Array.isArray(statement)) {
      throw new TypeError("a statement of a transaction is an object");
    }
    for (const key of Object.keys(statement)) {
      if (key !== "sql" && key !== "params") throw new TypeError("a statement has the keys sql and params only");
    }
    const { sql, params } = statement as { sql?: unknown; params?: unknown };
    requireSqlText(sql);
    return { sql, values: parameterList(params) };
  });
}
