// The image that every actor's store starts as: an empty database in WAL mode with the host's tables. Made in memory once
// and copied, which costs a fraction of creating a database.
import { DatabaseSync } from "node:sqlite";
import { invariant } from "../../base/invariant.ts";
import { HOST_SCHEMA } from "./host-tables.ts";
import { PAGE_BYTES } from "./wal-tail.ts";

/** Where SQLite keeps user_version and application_id; the host keeps a store's lineage in the two of them. */
const USER_VERSION_AT = 60;
const APPLICATION_ID_AT = 68;
export const STORE_HEADER_BYTES = 100;

/** A file that holds this is a store that has never committed anything: its lineage is 0. */
export function storeTemplate(): Uint8Array {
  const database = new DatabaseSync(":memory:");
  try {
    database.exec(HOST_SCHEMA);
    const image = Buffer.from(database.serialize());
    invariant(image.readUInt16BE(16) === PAGE_BYTES, "the template has pages of 4096 bytes");
    // Write and read version 2: the file is in WAL mode.
    image.writeUInt8(2, 18);
    image.writeUInt8(2, 19);
    return image;
  } finally {
    database.close();
  }
}

/** The lineage in a store's first bytes; null when they are no database's. */
export function lineageOf(header: Buffer): bigint | null {
  if (header.length < STORE_HEADER_BYTES || header.toString("latin1", 0, 16) !== "SQLite format 3\0") return null;
  return (BigInt(header.readUInt32BE(USER_VERSION_AT)) << 32n) | BigInt(header.readUInt32BE(APPLICATION_ID_AT));
}

/** SQL that puts `lineage` where `lineageOf` finds it; part of the transaction it runs in. */
export function lineageSql(lineage: bigint): string {
  const [version, application] = [BigInt.asIntN(32, lineage >> 32n), BigInt.asIntN(32, lineage)];
  return `PRAGMA user_version = ${version}; PRAGMA application_id = ${application}`;
}
