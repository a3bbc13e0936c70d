// How a connection to an actor's store is set up, before anybody's SQL runs on it.
import { DatabaseSync } from "node:sqlite";

/** Bounds of a connection that a tenant's SQL could push at. Far above what honest statements need. */
const LIMITS = {
  length: 16 << 20,
  sqlLength: 1 << 20,
  attach: 0,
  likePatternLength: 5_000,
  triggerDepth: 100,
  variableNumber: 100,
} as const;

const SETTINGS = `
  PRAGMA locking_mode = EXCLUSIVE;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = OFF;
  PRAGMA wal_autocheckpoint = 0;
  PRAGMA temp_store = MEMORY;
  PRAGMA cache_size = -1024;
  PRAGMA trusted_schema = OFF;
`;

/**
 * Open the store's file for one holder, rows as arrays and integers as bigint. EXCLUSIVE locking keeps every other
 * connection out and needs no shared memory file; checkpoints happen when the host asks for them only.
 */
export function openConnection(path: string): DatabaseSync {
  const database = new DatabaseSync(path, {
    enableForeignKeyConstraints: true,
    enableDoubleQuotedStringLiterals: false,
    defensive: true,
    readBigInts: true,
    returnArrays: true,
    limits: LIMITS,
  });
  try {
    database.exec(SETTINGS);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}
