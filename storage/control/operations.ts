// Operations, and the idempotency keys under which they can be found again.
import { and, asc, eq, inArray, lt, notInArray, sql } from "drizzle-orm";
import type { PrincipalId } from "../../base/ids.ts";
import type { IdempotencyRow, OperationRow } from "./records.ts";
import { comparison, idempotency, operation, transferValue } from "./schema.ts";
import { type Db, given, prepareUpsert } from "./statements.ts";

const SETTLED = ["succeeded", "failed"] as const;

export class OperationTable {
  readonly #statements;

  constructor(db: Db) {
    this.#statements = prepare(db);
  }

  get(id: string): OperationRow | null {
    return this.#statements.byId.get({ id }) ?? null;
  }

  put(row: OperationRow): void {
    this.#statements.put(row);
  }

  /** Every Operation that has not settled, oldest first. */
  unfinished(): readonly OperationRow[] {
    return this.#statements.unfinished.all();
  }

  countUnfinished(): number {
    return this.#statements.countUnfinished.get()?.count ?? 0;
  }

  /** Statuses that no Operation has are absent. */
  countByStatus(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#statements.countByStatus.all().map(({ status, count }) => [status, count]));
  }

  /** The Operation that a principal's key stands for, and what the key was used with. */
  byKey(api: string, principal: PrincipalId, key: string): IdempotencyRow | null {
    return this.#statements.byKey.get({ api, principal, key }) ?? null;
  }

  /** Bind a key. Throws when it is bound already: look it up in the same transaction first. */
  bindKey(row: IdempotencyRow): void {
    this.#statements.bindKey.run({ ...row });
  }

  /** Unfinished Operations whose promise ended before `nowMs`. */
  overdueUnfinished(nowMs: number): readonly OperationRow[] {
    return this.#statements.overdueUnfinished.all({ nowMs });
  }

  /**
   * Forget up to `countMax` settled Operations whose retention ended before `nowMs`, with their keys and comparison
   * material. Returns how many went. An unfinished Operation never goes (HA-124).
   */
  prune(nowMs: number, countMax: number): number {
    const expired = this.#statements.expired.all({ nowMs, countMax });
    for (const { id } of expired) {
      this.#statements.dropKey.run({ id });
      this.#statements.dropComparison.run({ id });
      this.#statements.dropTransfer.run({ id });
      this.#statements.drop.run({ id });
    }
    return expired.length;
  }
}

function prepare(db: Db) {
  return {
    byId: db
      .select()
      .from(operation)
      .where(eq(operation.id, given("id")))
      .prepare(),
    put: prepareUpsert(db, operation, [operation.id]),
    // Written as the partial index is, or SQLite would not use it.
    unfinished: db
      .select()
      .from(operation)
      .where(sql`status NOT IN ('succeeded', 'failed')`)
      .orderBy(asc(operation.createdAtMs), asc(operation.id))
      .prepare(),
    countUnfinished: db
      .select({ count: sql<number>`count(*)` })
      .from(operation)
      .where(sql`status NOT IN ('succeeded', 'failed')`)
      .prepare(),
    countByStatus: db
      .select({ status: operation.status, count: sql<number>`count(*)` })
      .from(operation)
      .groupBy(operation.status)
      .prepare(),
    byKey: db
      .select()
      .from(idempotency)
      .where(
        and(
          eq(idempotency.principal, given("principal")),
          eq(idempotency.key, given("key")),
          eq(idempotency.api, given("api")),
        ),
      )
      .prepare(),
    bindKey: db
      .insert(idempotency)
      .values({
        api: given("api"),
        principal: given("principal"),
        key: given("key"),
        operationId: given("operationId"),
        fingerprint: given("fingerprint"),
      })
      .prepare(),
    overdueUnfinished: db
      .select()
      .from(operation)
      .where(and(lt(operation.retainUntilMs, given("nowMs")), notInArray(operation.status, [...SETTLED])))
      .prepare(),
    expired: db
      .select({ id: operation.id })
      .from(operation)
      .where(and(lt(operation.retainUntilMs, given("nowMs")), inArray(operation.status, [...SETTLED])))
      .limit(given("countMax"))
      .prepare(),
    drop: db
      .delete(operation)
      .where(eq(operation.id, given("id")))
      .prepare(),
    dropKey: db
      .delete(idempotency)
      .where(eq(idempotency.operationId, given("id")))
      .prepare(),
    dropComparison: db
      .delete(comparison)
      .where(eq(comparison.operationId, given("id")))
      .prepare(),
    dropTransfer: db
      .delete(transferValue)
      .where(eq(transferValue.operationId, given("id")))
      .prepare(),
  };
}
