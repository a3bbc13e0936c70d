// The lock that keeps two processes off one directory.
//
// It is the exclusive lock of an empty SQLite database that stays open: the operating system drops it with the process,
// however that ends, so a node that was killed never has to be unlocked by hand. Nothing is ever written to the file.
import { Database, SQLiteError } from "bun:sqlite";
import { join } from "node:path";
import { AtollError } from "../../base/errors.ts";

export class DirectoryLock {
  readonly #database: Database;

  private constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Take the lock of an existing directory, without waiting. Throws `data_directory_in_use` while another process, or
   * another lock of this one, holds it.
   */
  static acquire(directory: string): DirectoryLock {
    const database = new Database(join(directory, "lock"), { create: true, readwrite: true });
    try {
      database.exec("PRAGMA busy_timeout = 0");
      database.exec("BEGIN EXCLUSIVE");
    } catch (error) {
      database.close();
      if (!(error instanceof SQLiteError) || error.code !== "SQLITE_BUSY") throw error;
      throw new AtollError("data_directory_in_use", "another process is using this data directory", {
        hint: "stop the other process, or give this one a data directory of its own",
        cause: error,
      });
    }
    return new DirectoryLock(database);
  }

  /** Give the lock back; calling it again does nothing. */
  release(): void {
    this.#database.close();
  }
}
