// The persistent index of due times: what has to be looked at, and when. The wheel keeps the near part of it in memory.
//
//   X1. A change is durable when `apply` returns, and all changes of one call become so together.
//   X2. A page read gives entries in the order (fireAtMs, key) and costs the entries it returns, not those it passes by.
//   X3. No retry waits longer than the longest back-off, also when the wall clock has been set back since it was noted.
import { invariant } from "../../base/invariant.ts";
import type { Fence } from "./epoch-file.ts";
import { FencedDatabase } from "./fenced-database.ts";

export interface DueEntry {
  readonly key: string;
  /** The time that was asked for, in Unix milliseconds. */
  readonly dueAtMs: number;
  /** The next time to try: `dueAtMs`, or later after a failure. */
  readonly fireAtMs: number;
  /** Failures since the entry was set. */
  readonly attempts: number;
}

export type DueChange =
  | { readonly type: "set"; readonly kind: string; readonly key: string; readonly dueAtMs: number }
  | { readonly type: "remove"; readonly kind: string; readonly key: string }
  | {
      readonly type: "retry";
      readonly kind: string;
      readonly key: string;
      readonly fireAtMs: number;
      readonly attempts: number;
    };

/** A place in the order of X2. */
export interface DuePosition {
  readonly fireAtMs: number;
  readonly key: string;
}

/** Before every entry. */
export const DUE_START: DuePosition = Object.freeze({ fireAtMs: -1, key: "" });

// WITHOUT ROWID: the row lives in the key's own tree, and the tree of times carries the key too, so both look-ups are
// one descent.
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS due (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    due_at_ms INTEGER NOT NULL,
    fire_at_ms INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    PRIMARY KEY (kind, key)
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS due_by_time ON due (kind, fire_at_ms, key);
  CREATE INDEX IF NOT EXISTS due_retries ON due (kind, fire_at_ms) WHERE attempts > 0;
`;

const SQL = {
  set: `INSERT INTO due (kind, key, due_at_ms, fire_at_ms, attempts) VALUES (:kind, :key, :dueAtMs, :dueAtMs, 0)
        ON CONFLICT (kind, key) DO UPDATE SET due_at_ms = :dueAtMs, fire_at_ms = :dueAtMs, attempts = 0`,
  remove: "DELETE FROM due WHERE kind = :kind AND key = :key",
  retry: "UPDATE due SET fire_at_ms = :fireAtMs, attempts = :attempts WHERE kind = :kind AND key = :key",
  get: `SELECT key, due_at_ms AS dueAtMs, fire_at_ms AS fireAtMs, attempts
          FROM due WHERE kind = :kind AND key = :key`,
  page: `SELECT key, due_at_ms AS dueAtMs, fire_at_ms AS fireAtMs, attempts
           FROM due
          WHERE kind = :kind AND (fire_at_ms, key) > (:afterMs, :afterKey) AND fire_at_ms <= :untilMs
          ORDER BY fire_at_ms, key LIMIT :countMax`,
  firstAfter: `SELECT min(fire_at_ms) AS fireAtMs FROM due WHERE kind = :kind AND fire_at_ms > :afterMs`,
  recall: `UPDATE due SET fire_at_ms = :nowMs WHERE kind = :kind AND attempts > 0 AND fire_at_ms > :latestMs`,
} as const;

type Place = { kind: string; key: string };

export class DueIndex {
  readonly #database: FencedDatabase;
  readonly #statements;

  private constructor(database: FencedDatabase) {
    this.#database = database;
    this.#statements = {
      set: database.prepare<unknown, Place & { dueAtMs: number }>(SQL.set),
      remove: database.prepare<unknown, Place>(SQL.remove),
      retry: database.prepare<unknown, Place & { fireAtMs: number; attempts: number }>(SQL.retry),
      get: database.prepare<DueEntry, Place>(SQL.get),
      page: database.prepare<
        DueEntry,
        { kind: string; afterMs: number; afterKey: string; untilMs: number; countMax: number }
      >(SQL.page),
      firstAfter: database.prepare<{ fireAtMs: number | null }, { kind: string; afterMs: number }>(SQL.firstAfter),
      recall: database.prepare<unknown, { kind: string; nowMs: number; latestMs: number }>(SQL.recall),
    };
  }

  /** Open or create the index file of a shard for the owner that holds `fence`. Throws `stale_epoch`. */
  static open(path: string, fence: Fence): DueIndex {
    return new DueIndex(FencedDatabase.open(path, fence, SCHEMA));
  }

  /** Make the changes durable, in order, all or none (X1). Throws `stale_epoch`. */
  apply(changes: Iterable<DueChange>): void {
    this.#database.write(() => {
      for (const change of changes) this.#applyOne(change);
    });
  }

  /** At most `countMax` entries of `kind` after `after` and up to `untilMs`, in order (X2). */
  page(kind: string, after: DuePosition, untilMs: number, countMax: number): DueEntry[] {
    return this.#statements.page.all({ kind, afterMs: after.fireAtMs, afterKey: after.key, untilMs, countMax });
  }

  /** The earliest `fireAtMs` of `kind` that is later than `afterMs`; Infinity when there is none. */
  firstAfter(kind: string, afterMs: number): number {
    return this.#statements.firstAfter.get({ kind, afterMs })?.fireAtMs ?? Number.POSITIVE_INFINITY;
  }

  get(kind: string, key: string): DueEntry | null {
    return this.#statements.get.get({ kind, key });
  }

  /** Bring retries of `kind` that wait beyond `latestMs` forward to `nowMs` (X3). */
  recallRetries(kind: string, nowMs: number, latestMs: number): void {
    this.#database.write(() => this.#statements.recall.run({ kind, nowMs, latestMs }));
  }

  close(): void {
    this.#database.close();
  }

  #applyOne(change: DueChange): void {
    const { kind, key } = change;
    switch (change.type) {
      case "set":
        // A lone surrogate would come back as another key, and a cancel of it would miss.
        invariant(key.isWellFormed(), "a due key is well-formed Unicode");
        invariant(Number.isSafeInteger(change.dueAtMs) && change.dueAtMs >= 0, "a due time is a whole number of ms");
        this.#statements.set.run({ kind, key, dueAtMs: change.dueAtMs });
        return;
      case "remove":
        this.#statements.remove.run({ kind, key });
        return;
      case "retry":
        this.#statements.retry.run({ kind, key, fireAtMs: change.fireAtMs, attempts: change.attempts });
        return;
    }
  }
}
