// The control store: one SQLite file with everything that the control plane has promised.
//
//   S1. `write` is one transaction: all of it is durable when it returns, or nothing happened. WAL with
//       synchronous=FULL, so "durable" survives loss of power.
//   S2. One process at a time has the file open. A second one is refused at open.
//   S3. Everything is synchronous on one connection: what a caller reads between two awaits is one snapshot.
import { Database, SQLiteError } from "bun:sqlite";
import { chmodSync } from "node:fs";
import { drizzle } from "drizzle-orm/bun-sqlite";
import { AtollError } from "../../base/errors.ts";
import { invariant } from "../../base/invariant.ts";
import { closable } from "./closable.ts";
import { migrate } from "./migrations.ts";
import { OperationTable } from "./operations.ts";
import { PrincipalTable } from "./principals.ts";
import { PrivateInputTable } from "./private-inputs.ts";
import { ResourceTable } from "./resources.ts";

export class ControlStore {
  readonly resources: ResourceTable;
  readonly operations: OperationTable;
  readonly privateInputs: PrivateInputTable;
  readonly principals: PrincipalTable;
  readonly #database: Database;
  readonly #close: () => void;
  readonly #begin;
  readonly #commit;
  readonly #rollback;
  #writing = false;

  private constructor(database: Database, close: () => void) {
    this.#database = database;
    this.#close = close;
    const db = drizzle(database);
    this.resources = new ResourceTable(db);
    this.operations = new OperationTable(db);
    this.privateInputs = new PrivateInputTable(db);
    this.principals = new PrincipalTable(db);
    this.#begin = database.prepare("BEGIN IMMEDIATE");
    this.#commit = database.prepare("COMMIT");
    this.#rollback = database.prepare("ROLLBACK");
  }

  /**
   * Open or create the store at `path` (":memory:" for units under test), with mode 0600, and bring its tables up to
   * date. The directory must exist. Throws `temporarily_unavailable` when another process has it open, or when a newer Atoll
   * wrote it.
   */
  static open(path: string): ControlStore {
    const database = new Database(path, { create: true, readwrite: true, strict: true });
    const close = closable(database);
    try {
      // Sealed secrets and digests of tokens are nobody else's business; SQLite gives the WAL the same mode.
      if (path !== ":memory:") chmodSync(path, 0o600);
      // Exclusive locking comes before WAL: then the index of the WAL lives in memory and no second process gets in.
      database.run("PRAGMA locking_mode = EXCLUSIVE");
      database.run("PRAGMA journal_mode = WAL");
      database.run("PRAGMA synchronous = FULL");
      database.run("PRAGMA foreign_keys = ON");
      // Sealed bytes that are deleted are overwritten, not merely unlinked.
      database.run("PRAGMA secure_delete = ON");
      database.run("BEGIN EXCLUSIVE; COMMIT");
      migrate(database);
      return new ControlStore(database, close);
    } catch (error) {
      close();
      if (error instanceof SQLiteError && error.code?.startsWith("SQLITE_BUSY") === true) {
        throw new AtollError("temporarily_unavailable", "another process has the control store open", {
          hint: "Stop the other node that uses this data directory, or choose another one.",
          cause: error,
        });
      }
      throw error;
    }
  }

  /**
   * Run `change` as one durable transaction (S1) and return its result. Throws what `change` throws, with everything
   * undone. `change` must not await and must not call `write` again. A full disk is `temporarily_unavailable`.
   */
  write<T>(change: () => T): T {
    invariant(!this.#writing, "a transaction of the control store inside another one");
    this.#writing = true;
    try {
      this.#begin.run();
      const result = change();
      this.#commit.run();
      return result;
    } catch (error) {
      this.resources.forgetCached();
      if (this.#database.inTransaction) this.#rollback.run();
      if (error instanceof SQLiteError && error.code === "SQLITE_FULL") {
        throw new AtollError("temporarily_unavailable", "the node has no disk space left", { cause: error });
      }
      throw error;
    } finally {
      this.#writing = false;
    }
  }

  /** Close the file. Calling it twice does nothing. */
  close(): void {
    this.#close();
  }
}
