// An SQLite file of a shard that only the shard's current owner can change.
//
// The epoch stands in the file itself and is compared inside every write transaction, so that there is no instant
// between the look and the write in which an owner could be replaced unnoticed (E2).
import { Database, type Statement } from "bun:sqlite";
import { type Fence, staleEpoch } from "./epoch-file.ts";

const SQL = {
  create:
    "CREATE TABLE IF NOT EXISTS fence (id INTEGER PRIMARY KEY CHECK (id = 1), owner TEXT NOT NULL, epoch INTEGER NOT NULL)",
  claim: `INSERT INTO fence (id, owner, epoch) VALUES (1, :owner, :epoch)
          ON CONFLICT (id) DO UPDATE SET owner = :owner, epoch = :epoch`,
  current: "SELECT owner, epoch FROM fence WHERE id = 1",
} as const;

/** How long a writer waits for another connection's transaction before it gives up, in milliseconds. */
const BUSY_MS_MAX = 5_000;

export class FencedDatabase {
  readonly #database: Database;
  readonly #fence: Fence;
  readonly #current: Statement<Fence, []>;

  private constructor(database: Database, fence: Fence) {
    this.#database = database;
    this.#fence = fence;
    this.#current = database.query<Fence, []>(SQL.current);
  }

  /**
   * Open or create the file, run the idempotent `schema`, and put `fence` into it. Durable writes cost one fsync a
   * transaction (WAL, synchronous=FULL). Throws `stale_epoch` when the file has seen a later epoch.
   */
  static open(path: string, fence: Fence, schema: string): FencedDatabase {
    const database = new Database(path, { create: true, readwrite: true, strict: true });
    try {
      database.exec(`PRAGMA busy_timeout = ${BUSY_MS_MAX}`);
      database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -16384");
      claim(database, fence, schema);
      return new FencedDatabase(database, fence);
    } catch (error) {
      database.close();
      throw error;
    }
  }

  /** Run `change` in one transaction; its writes are durable when this returns. Throws `stale_epoch` (E2). */
  write<T>(change: () => T): T {
    return this.#database
      .transaction(() => {
        const current = this.#current.get();
        if (current === null || current.epoch !== this.#fence.epoch || current.owner !== this.#fence.owner) {
          throw staleEpoch(this.#fence.epoch, current?.epoch ?? 0);
        }
        return change();
      })
      .immediate();
  }

  /** Prepare a statement once; it lives as long as the database. */
  prepare<Row, Params extends Record<string, string | number>>(sql: string): Statement<Row, [Params]> {
    return this.#database.query<Row, [Params]>(sql);
  }

  close(): void {
    this.#database.close();
  }
}

function claim(database: Database, fence: Fence, schema: string): void {
  database
    .transaction(() => {
      database.exec(SQL.create);
      const current = database.query<Fence, []>(SQL.current).get();
      if (current !== null && current.epoch > fence.epoch) throw staleEpoch(fence.epoch, current.epoch);
      database.query<unknown, [{ owner: string; epoch: number }]>(SQL.claim).run({ ...fence });
      database.exec(schema);
    })
    .immediate();
}
