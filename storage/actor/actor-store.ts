// One actor's open store, where its code runs.
//
//   S1. The store's file holds only what is synced in the log: its pages move there in a checkpoint, which waits for the
//       log, and never on their own. (Closing the last connection would move them; see `open`.)
//   S2. Every commit is handed to the sink before control returns to whoever made it, whole and in order.
//   S3. After a failure of the sink or of the disk the store refuses everything: what it holds may be more than what
//       the log has, and only the log counts.
import { unlinkSync } from "node:fs";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { AtollError } from "../../base/errors.ts";
import type { Random } from "../../base/random.ts";
import { encodeCommit } from "./commit-payload.ts";
import type { CommitSink } from "./commit-sink.ts";
import { HOST_TABLES, HostTables } from "./host-tables.ts";
import { Authorizer, HOST_PREFIX } from "./private-sql/authorizer.ts";
import { type ChangeCounts, PreparedSqlCache } from "./private-sql/prepared-sql.ts";
import { PrivateSql } from "./private-sql/private-sql.ts";
import { resultCode, SqlError, toSqlError } from "./private-sql/sql-error.ts";
import { openConnection } from "./store-connection.ts";
import { lineageSql } from "./store-template.ts";
import { PAGE_BYTES, WalTail } from "./wal-tail.ts";

export interface ActorStoreOptions {
  /** A name of the store's file made for this opening alone; it is gone when `open` returns. */
  readonly path: string;
  readonly sink: CommitSink;
  readonly random: Random;
  /** Size that the store may reach. What the host keeps in it may go a little beyond. */
  readonly quotaBytes: number;
}

/** Room for the host's rows in a store whose quota is used up. */
const HOST_RESERVE_PAGES = 1024;
/** A hot store that commits while the log is being waited for is tried again so many times. */
const QUIET_TRIES = 3;

const SQL = {
  lineage: "SELECT user_version, application_id FROM pragma_user_version, pragma_application_id",
  counts: "SELECT changes(), total_changes()",
  hostNames: `SELECT count(*) FROM sqlite_schema WHERE lower(substr(name, 1, ${HOST_PREFIX.length})) = '${HOST_PREFIX}'`,
  hostReferences: `SELECT count(*) FROM sqlite_schema AS s, pragma_foreign_key_list(s.name) AS f
                    WHERE s.type = 'table' AND lower(substr(f."table", 1, ${HOST_PREFIX.length})) = '${HOST_PREFIX}'`,
} as const;

type Phase =
  | { readonly phase: "open" }
  | { readonly phase: "failed"; readonly reason: unknown }
  | { readonly phase: "closed" };

export class ActorStore {
  readonly sql: PrivateSql;
  readonly host: HostTables;
  readonly #database: DatabaseSync;
  readonly #options: ActorStoreOptions;
  readonly #authorizer: Authorizer;
  readonly #statements: PreparedSqlCache;
  readonly #tail: WalTail;
  readonly #own = new Map<string, StatementSync>();
  #phase: Phase = { phase: "open" };
  /** 0 until the first commit ever. */
  #lineage: bigint;
  #newest: Promise<void> = Promise.resolve();
  #commits = 0;

  private constructor(database: DatabaseSync, options: ActorStoreOptions) {
    this.#database = database;
    this.#options = options;
    const [version = 0n, application = 0n] = this.#row(SQL.lineage);
    this.#lineage = (BigInt.asUintN(32, version) << 32n) | BigInt.asUintN(32, application);
    this.#row(SQL.hostNames);
    this.#tail = new WalTail(`${options.path}-wal`);
    this.#limitPages(0);
    this.#authorizer = new Authorizer();
    database.setAuthorizer(this.#authorizer.decide);
    this.#statements = new PreparedSqlCache(database, this.#authorizer);
    this.sql = new PrivateSql({
      statements: this.#statements,
      read: (work) => this.#guarded(() => this.#authorizer.tenant(work)),
      write: (work, change) => this.#tenantWrite(work, change),
      attempt: (work, change) => this.#attempt(work, change),
      altering: (work) => this.#authorizer.altering(work),
      counts: () => this.#counts(),
    });
    this.host = new HostTables(database, {
      read: (work) => this.#guarded(work),
      write: (work) => this.#hostWrite(work),
    });
  }

  /**
   * Open the store at a path made for this purpose. Throws `backend_unavailable` (an SqlError) when it cannot be opened;
   * SQLite's lock keeps a second holder out even where everything else has failed.
   */
  static open(options: ActorStoreOptions): ActorStore {
    let database: DatabaseSync | null = null;
    try {
      database = openConnection(options.path);
      return new ActorStore(database, options);
    } catch (error) {
      database?.close();
      throw new SqlError("backend_unavailable", "the actor's store cannot be opened", error);
    } finally {
      // SQLite copies a -wal file into its database when the last connection closes, also when a thread is ended in the
      // middle of anything. It does not for a file whose name is gone, and then S1 holds however the connection ends.
      remove(options.path);
    }
  }

  /** Resolves when every commit so far is durable: what a read saw included. Rejects when one never will be. */
  durable(): Promise<void> {
    return this.#newest;
  }

  /** Bytes of commits that wait for a checkpoint. */
  get checkpointBytes(): number {
    return this.#tail.bytes;
  }

  /**
   * Move what the log has synced into the store's own file and sync that, and tell the sink. Called between turns; false
   * when the store kept committing, and nothing was moved.
   */
  async checkpoint(): Promise<boolean> {
    if (!(await this.#quiet())) return false;
    this.#guarded(() => this.#moveFrames("FULL"));
    await this.#options.sink.checkpointed();
    return true;
  }

  /**
   * Close the store. Resolves "clean" when its file holds everything that the log has; "lost" when the log has to be
   * asked. Never rejects. Statements of this store must not run any more.
   */
  async close(): Promise<"clean" | "lost"> {
    let how: "clean" | "lost" = "lost";
    try {
      if (this.#phase.phase === "open" && (await this.#quiet())) {
        // Without a sync: the log keeps the records until the file is synced.
        if (this.#tail.bytes > 0) this.#moveFrames("OFF");
        how = "clean";
      }
    } catch {
      how = "lost";
    }
    this.#phase = { phase: "closed" };
    this.#statements.clear();
    this.#own.clear();
    this.#tail.close();
    this.#database.close();
    remove(`${this.#options.path}-wal`);
    return how;
  }

  #tenantWrite<T>(work: () => T, change: "rows" | "schema"): T {
    return this.#write(() => this.#tenantWork(work, change));
  }

  #tenantWork<T>(work: () => T, change: "rows" | "schema"): T {
    const result = this.#authorizer.tenant(work);
    if (change === "schema") this.#requireHostUntouched();
    return result;
  }

  /** The host's own rows fit in even when the tenant has used up the quota. */
  #hostWrite<T>(work: () => T): T {
    try {
      return this.#write(work);
    } catch (error) {
      if (!(error instanceof SqlError) || error.name !== "storage_full") throw error;
      this.#limitPages(HOST_RESERVE_PAGES);
      try {
        return this.#write(work);
      } finally {
        this.#limitPages(0);
      }
    }
  }

  #write<T>(work: () => T): T {
    return this.#guarded(() => {
      const born = this.#lineage === 0n;
      this.#database.exec("BEGIN IMMEDIATE");
      let lineage = this.#lineage;
      let result: T;
      try {
        if (born) lineage = this.#giveLineage();
        result = work();
        this.#database.exec("COMMIT");
      } catch (error) {
        this.#rollBack();
        throw error;
      }
      this.#lineage = lineage;
      this.#handOver(born);
      return result;
    });
  }

  #attempt<T>(work: () => T, change: "rows" | "schema"): T {
    return this.#guarded(() => {
      this.#database.exec("BEGIN IMMEDIATE");
      try {
        return this.#tenantWork(work, change);
      } finally {
        this.#rollBack();
      }
    });
  }

  #rollBack(): void {
    // Some failures have rolled back already.
    if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
    this.#statements.clear();
  }

  #handOver(born: boolean): void {
    const frames = this.#tail.read();
    if (frames === null) return;
    this.#commits++;
    const payload = encodeCommit({ born, lineage: this.#lineage, frames });
    this.#newest = this.#options.sink.committed(payload);
    this.#newest.catch((reason: unknown) => this.#fail(reason));
  }

  #giveLineage(): bigint {
    const lineage = Buffer.from(this.#options.random.bytes(8)).readBigUInt64LE() | 1n;
    this.#database.exec(lineageSql(lineage));
    return lineage;
  }

  /** Run `work` and name its failure as the contract does. */
  #guarded<T>(work: () => T): T {
    if (this.#phase.phase !== "open") {
      throw new SqlError("backend_unavailable", "the store cannot be used any more", this.#phase);
    }
    try {
      return work();
    } catch (error) {
      const named = error instanceof AtollError ? error : toSqlError(error);
      // What the disk did or did not do is not known; only the log is.
      if (named instanceof SqlError && named.name === "backend_unavailable" && resultCode(error) !== 0)
        this.#fail(error);
      throw named;
    }
  }

  /** No statement may take a name of the host's by ALTER, nor bind the host's rows by a foreign key. */
  #requireHostUntouched(): void {
    const [names] = this.#row(SQL.hostNames);
    const [references] = this.#row(SQL.hostReferences);
    if (Number(names) === HOST_TABLES && Number(references) === 0) return;
    throw new SqlError("invalid_sql", `names that start with ${HOST_PREFIX} are the host's`);
  }

  /** Everything is synced in the log, and nothing was committed meanwhile. */
  async #quiet(): Promise<boolean> {
    for (let tries = 0; tries < QUIET_TRIES; tries++) {
      const before = this.#commits;
      await this.#options.sink.synced();
      if (this.#commits === before) return true;
    }
    return false;
  }

  #moveFrames(synchronous: "FULL" | "OFF"): void {
    this.#database.exec(`PRAGMA synchronous = ${synchronous}`);
    const [busy] = this.#row("PRAGMA wal_checkpoint(TRUNCATE)");
    this.#database.exec("PRAGMA synchronous = OFF");
    if (Number(busy) !== 0) throw new SqlError("backend_unavailable", "the store is in use");
    this.#tail.reset();
  }

  #limitPages(reserve: number): void {
    const pages = Math.ceil(this.#options.quotaBytes / PAGE_BYTES) + reserve;
    this.#row(`PRAGMA max_page_count = ${pages}`);
  }

  #counts(): ChangeCounts {
    const [last = 0n, total = 0n] = this.#authorizer.trusted(() => this.#row(SQL.counts));
    return { last: Number(last), total: Number(total) };
  }

  #row(sql: string): readonly bigint[] {
    let statement = this.#own.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      this.#own.set(sql, statement);
    }
    return (statement.get() ?? []) as unknown as readonly bigint[];
  }

  #fail(reason: unknown): void {
    if (this.#phase.phase === "open") this.#phase = { phase: "failed", reason };
  }
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It is not there, or stays until the directory of openings is emptied.
  }
}
