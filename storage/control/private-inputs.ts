// Sealed bytes: the transfer values of Operations, what repeated requests are compared with, and kept secrets.
// Nothing here can be read without the Host's key; `storage/secrets` seals and unseals.
import { eq, lte, ne, sql } from "drizzle-orm";
import type { OperationId, ResourceUid } from "../../base/ids.ts";
import { comparison, secret, transferValue } from "./schema.ts";
import { type Db, given, prepareUpsert } from "./statements.ts";

export interface TransferRow {
  readonly operationId: OperationId;
  readonly keyId: string;
  readonly sealed: Uint8Array;
  readonly expiresAtMs: number;
}

export interface ComparisonRow {
  readonly operationId: OperationId;
  readonly keyId: string;
  readonly mac: Uint8Array;
}

export interface SecretRow {
  readonly uid: ResourceUid;
  readonly keyId: string;
  readonly sealed: Uint8Array;
  readonly mac: Uint8Array;
}

export class PrivateInputTable {
  readonly #statements;

  constructor(db: Db) {
    this.#statements = prepare(db);
  }

  transfer(operationId: OperationId): TransferRow | null {
    return this.#statements.transfer.get({ operationId }) ?? null;
  }

  putTransfer(row: TransferRow): void {
    this.#statements.putTransfer(row);
  }

  dropTransfer(operationId: OperationId): void {
    this.#statements.dropTransfer.run({ operationId });
  }

  /** Forget transfer values that expired at or before `nowMs`. Comparison material stays (HA-138). */
  dropExpiredTransfers(nowMs: number): void {
    this.#statements.dropExpired.run({ nowMs });
  }

  /** How many unfinished or replayable Operations have comparison material of another key than `keyId`. */
  countForeign(keyId: string): number {
    return this.#statements.countForeign.get({ keyId })?.count ?? 0;
  }

  comparison(operationId: OperationId): ComparisonRow | null {
    return this.#statements.comparison.get({ operationId }) ?? null;
  }

  putComparison(row: ComparisonRow): void {
    this.#statements.putComparison(row);
  }

  secret(uid: ResourceUid): SecretRow | null {
    return this.#statements.secret.get({ uid }) ?? null;
  }

  putSecret(row: SecretRow): void {
    this.#statements.putSecret(row);
  }

  dropSecret(uid: ResourceUid): void {
    this.#statements.dropSecret.run({ uid });
  }
}

function prepare(db: Db) {
  const transferOf = eq(transferValue.operationId, given("operationId"));
  const comparisonOf = eq(comparison.operationId, given("operationId"));
  const secretOf = eq(secret.uid, given("uid"));
  return {
    transfer: db.select().from(transferValue).where(transferOf).prepare(),
    putTransfer: prepareUpsert(db, transferValue, [transferValue.operationId]),
    dropTransfer: db.delete(transferValue).where(transferOf).prepare(),
    dropExpired: db
      .delete(transferValue)
      .where(lte(transferValue.expiresAtMs, given("nowMs")))
      .prepare(),
    countForeign: db
      .select({ count: sql<number>`count(*)` })
      .from(comparison)
      .where(ne(comparison.keyId, given("keyId")))
      .prepare(),
    comparison: db.select().from(comparison).where(comparisonOf).prepare(),
    putComparison: prepareUpsert(db, comparison, [comparison.operationId]),
    secret: db.select().from(secret).where(secretOf).prepare(),
    putSecret: prepareUpsert(db, secret, [secret.uid]),
    dropSecret: db.delete(secret).where(secretOf).prepare(),
  };
}
