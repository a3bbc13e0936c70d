// What a statement may do, decided by what SQLite says that it is about to do (AN-87, AN-A16).
//
//   P1. A tenant's statement reaches nothing but its own tables, indexes, views and triggers in the main database. It
//       never reaches a name that starts with `_atoll_`, the schema table, another database, a PRAGMA, or a transaction.
//   P2. The rule holds for what views and triggers do when they are used, for SQLite asks about that too.
//   P3. SQLite's own reading and writing of its schema while it carries out CREATE, ALTER or DROP passes, and nothing
//       that a tenant wrote can be part of it: ALTER and DROP take no queries, and the query of CREATE … AS is asked
//       about before SQLite touches the schema's rows.
import { constants } from "node:sqlite";

/** Everything of the host has a name that starts so, whatever its case. */
export const HOST_PREFIX = "_atoll_";

/** Virtual tables that are there without CREATE, and show what is the host's. No table of a tenant may take their names. */
const VIRTUAL_TABLES_DENIED = new Set(["dbstat", "fts3tokenize"]);
/** SQLite asks by the first name of each pair, but by the written one where no column of the table is used. */
const SCHEMA_TABLES = new Set(["sqlite_master", "sqlite_schema", "sqlite_temp_master", "sqlite_temp_schema"]);
const FUNCTIONS_DENIED = new Set(["load_extension", "fts3_tokenizer", "sqlite_log", "rtreecheck"]);

const { SQLITE_OK, SQLITE_DENY } = constants;

/** What the authorizer has learnt about the statement that was prepared last. */
export interface Effects {
  /** It changes rows by itself. */
  readonly writesRows: boolean;
  /** It changes the schema, or what SQLite keeps about it. */
  readonly changesSchema: boolean;
  /** It is an ALTER, which lets SQLite check the table's rows when it runs: see `altering`. */
  readonly alters: boolean;
}

export class Authorizer {
  #trusted = true;
  #writesRows = false;
  #changesSchema = false;
  #alters = false;
  #altering = false;
  /** SQLite is at work on its own schema table (P3). */
  #inSchema = false;

  /** Run the host's own work, which may do everything. */
  trusted<T>(work: () => T): T {
    const before = this.#trusted;
    this.#trusted = true;
    try {
      return work();
    } finally {
      this.#trusted = before;
    }
  }

  /** Run the preparation or a step of one tenant's statement under the rules above. */
  tenant<T>(work: () => T): T {
    const before = this.#trusted;
    this.#trusted = false;
    this.#writesRows = false;
    this.#changesSchema = false;
    this.#alters = false;
    this.#inSchema = false;
    try {
      return work();
    } finally {
      this.#trusted = before;
      this.#inSchema = false;
    }
  }

  /** Run the step of an ALTER: it asks for SQLite's check of the table by a PRAGMA. No tenant's text is part of that. */
  altering<T>(work: () => T): T {
    this.#altering = true;
    try {
      return work();
    } finally {
      this.#altering = false;
    }
  }

  get effects(): Effects {
    return { writesRows: this.#writesRows, changesSchema: this.#changesSchema, alters: this.#alters };
  }

  /** SQLite's question; the answer is SQLITE_OK or SQLITE_DENY. */
  readonly decide = (action: number, first: string | null, second: string | null, database: string | null): number => {
    if (this.#trusted) return SQLITE_OK;
    return this.#allows(action, first ?? "", second ?? "", database ?? "") ? SQLITE_OK : SQLITE_DENY;
  };

  #allows(action: number, first: string, second: string, database: string): boolean {
    switch (action) {
      case constants.SQLITE_SELECT:
      case constants.SQLITE_RECURSIVE:
        return true;
      case constants.SQLITE_FUNCTION:
        return this.#inSchema || !(FUNCTIONS_DENIED.has(second.toLowerCase()) || isInternalFunction(second));
      case constants.SQLITE_READ:
        return this.#allowsRow(first, database, "read");
      case constants.SQLITE_INSERT:
      case constants.SQLITE_UPDATE:
      case constants.SQLITE_DELETE:
        return this.#allowsRow(first, database, action === constants.SQLITE_INSERT ? "insert" : "change");
      case constants.SQLITE_CREATE_TABLE:
      case constants.SQLITE_DROP_TABLE:
      case constants.SQLITE_CREATE_VIEW:
      case constants.SQLITE_DROP_VIEW:
      case constants.SQLITE_CREATE_INDEX:
      case constants.SQLITE_DROP_INDEX:
      case constants.SQLITE_CREATE_TRIGGER:
      case constants.SQLITE_DROP_TRIGGER:
      case constants.SQLITE_REINDEX:
      case constants.SQLITE_ANALYZE:
        this.#changesSchema = true;
        return database === "main" && !isReserved(first) && !isReserved(second);
      case constants.SQLITE_ALTER_TABLE:
        // Its arguments are the database and the table.
        this.#changesSchema = true;
        this.#alters = true;
        this.#inSchema = true;
        return first === "main" && !isReserved(second);
      case constants.SQLITE_PRAGMA:
        return this.#altering && first === "quick_check";
      default:
        // ATTACH, DETACH, VACUUM, transactions, savepoints, virtual and temporary things.
        return false;
    }
  }

  #allowsRow(table: string, database: string, how: "read" | "insert" | "change"): boolean {
    if (isReserved(table)) return false;
    const name = table.toLowerCase();
    if (SCHEMA_TABLES.has(name)) {
      // SQLite itself refuses direct writes, with the defensive switch on; what is left is its own (P3).
      if (how === "read") return this.#inSchema;
      this.#changesSchema = true;
      if (how === "change") this.#inSchema = true;
      return true;
    }
    // ALTER also looks for temporary things that name the table; there are none.
    if (database !== "main" && database !== "") return false;
    if (how === "read") return true;
    if (name === "sqlite_sequence" && !this.#inSchema) return false;
    this.#writesRows = true;
    return true;
  }
}

/** Whether the name belongs to the host, or to something that shows what is the host's. */
function isReserved(name: string): boolean {
  const lower = name.toLowerCase();
  return (
    lower.startsWith(HOST_PREFIX) ||
    lower.startsWith(`sqlite_autoindex_${HOST_PREFIX}`) ||
    VIRTUAL_TABLES_DENIED.has(lower)
  );
}

function isInternalFunction(name: string): boolean {
  return /^sqlite_(?:rename|drop|add|fail)/i.test(name);
}
