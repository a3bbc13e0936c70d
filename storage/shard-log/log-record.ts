// How one record of a shard's log looks on disk. All numbers are little-endian; a record starts at a multiple of 8.
//
//    0  u32  magic "ATLR"
//    4  u32  CRC-32 of everything that follows, up to the end of the payload, started with the log's own seed
//    8  u32  bytes of the payload
//   12  u16  bytes of the key (UTF-8)
//   14  u8   kind: the owner of the record decides what it means; 0 belongs to the log itself
//   15  u8   version of this layout: 1
//   16  u64  epoch of the shard's owner that wrote it
//   24  u64  sequence: grows by one from record to record, over all segments and owners
//   32  u64  synced through: when this record was written, all records up to this sequence were on the disk
//   40       key, payload, zero bytes up to the next multiple of 8
//
// "Synced through" is what makes a hole in the log tellable from a torn tail: a record that an intact later one calls
// synced may have been acknowledged, so its loss is damage; without such a witness it never was. The seed keeps
// tenants from forging witnesses: a payload is theirs, and could hold bytes that look like a record.
import { crc32 } from "node:zlib";
import { invariant } from "../../base/invariant.ts";

export const RECORD_HEADER_BYTES = 40;
export const RECORD_MAGIC = 0x524c5441;
const VERSION = 1;
export const KEY_BYTES_MAX = 1024;
/** One transaction's pages; far above any store's quota, and well inside 32 bits. */
export const PAYLOAD_BYTES_MAX = 1 << 30;

/** The kind of the log's own records; nobody else may write or see it. */
export const KIND_OF_LOG = 0;

export interface LogRecord {
  /** 1..255. */
  readonly kind: number;
  /** What the record is about, such as an actor; at most 1024 bytes as UTF-8. */
  readonly key: string;
  readonly payload: Uint8Array;
}

export interface RecordHeader {
  readonly kind: number;
  readonly epoch: number;
  readonly sequence: number;
  readonly syncedThrough: number;
  readonly keyBytes: number;
  readonly payloadBytes: number;
}

/** Lay the record out, still without the two values that are known when it is written: see `sealRecord`. */
export function layOutRecord(record: LogRecord, epoch: number, sequence: number): Buffer {
  const keyBytes = Buffer.byteLength(record.key);
  invariant(keyBytes <= KEY_BYTES_MAX, "a log key is at most 1024 bytes");
  invariant(record.payload.length <= PAYLOAD_BYTES_MAX, "a log record's payload is at most 1 GiB");
  invariant(record.kind >= 0 && record.kind <= 255, "a log record's kind is one byte");
  const bytes = Buffer.allocUnsafeSlow(recordBytes(keyBytes, record.payload.length));
  bytes.writeUInt32LE(RECORD_MAGIC, 0);
  bytes.writeUInt32LE(record.payload.length, 8);
  bytes.writeUInt16LE(keyBytes, 12);
  bytes.writeUInt8(record.kind, 14);
  bytes.writeUInt8(VERSION, 15);
  writeCount(bytes, epoch, 16);
  writeCount(bytes, sequence, 24);
  bytes.write(record.key, RECORD_HEADER_BYTES, "utf8");
  bytes.set(record.payload, RECORD_HEADER_BYTES + keyBytes);
  bytes.fill(0, RECORD_HEADER_BYTES + keyBytes + record.payload.length);
  return bytes;
}

/** Put in what is known at the time of writing, and the sum over all of it. */
export function sealRecord(bytes: Buffer, syncedThrough: number, seed: number): void {
  writeCount(bytes, syncedThrough, 32);
  bytes.writeUInt32LE(crc32(bytes.subarray(8, contentEnd(bytes, 0)), seed), 4);
}

/** The header at `at`, unchecked but for magic, version and lengths; null when no record can start there. */
export function readHeader(bytes: Buffer, at: number): RecordHeader | null {
  if (bytes.length - at < RECORD_HEADER_BYTES) return null;
  if (bytes.readUInt32LE(at) !== RECORD_MAGIC || bytes.readUInt8(at + 15) !== VERSION) return null;
  const payloadBytes = bytes.readUInt32LE(at + 8);
  const keyBytes = bytes.readUInt16LE(at + 12);
  if (payloadBytes > PAYLOAD_BYTES_MAX || keyBytes > KEY_BYTES_MAX) return null;
  return {
    kind: bytes.readUInt8(at + 14),
    epoch: readCount(bytes, at + 16),
    sequence: readCount(bytes, at + 24),
    syncedThrough: readCount(bytes, at + 32),
    keyBytes,
    payloadBytes,
  };
}

/** Whether the sum of the record at `at` is right. The whole record must be in `bytes`. */
export function isIntact(bytes: Buffer, at: number, seed: number): boolean {
  return crc32(bytes.subarray(at + 8, contentEnd(bytes, at)), seed) === bytes.readUInt32LE(at + 4);
}

export function keyAt(bytes: Buffer, at: number, header: RecordHeader): string {
  return bytes.toString("utf8", at + RECORD_HEADER_BYTES, at + RECORD_HEADER_BYTES + header.keyBytes);
}

/** A view of the payload, valid as long as `bytes` is not reused. */
export function payloadAt(bytes: Buffer, at: number, header: RecordHeader): Buffer {
  const start = at + RECORD_HEADER_BYTES + header.keyBytes;
  return bytes.subarray(start, start + header.payloadBytes);
}

/** Length of a record on disk, padding included. */
export function recordBytes(keyBytes: number, payloadBytes: number): number {
  return (RECORD_HEADER_BYTES + keyBytes + payloadBytes + 7) & ~7;
}

function contentEnd(bytes: Buffer, at: number): number {
  return at + RECORD_HEADER_BYTES + bytes.readUInt16LE(at + 12) + bytes.readUInt32LE(at + 8);
}

/** A count up to 2^53 - 1 as 64 bits. */
export function writeCount(bytes: Buffer, count: number, at: number): void {
  bytes.writeUInt32LE(count % 2 ** 32, at);
  bytes.writeUInt32LE(Math.floor(count / 2 ** 32), at + 4);
}

export function readCount(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at + 4) * 2 ** 32 + bytes.readUInt32LE(at);
}
