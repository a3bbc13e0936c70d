// A segment: one file of the log. Its name and its header say which owner wrote it and where in the log it starts.
//
//    0   8 bytes  "ATOLLLOG"
//    8   u32      CRC-32 of the bytes 12..48
//   12   u32      version of this layout: 1
//   16   u64      epoch of the owner
//   24   u64      sequence of its first record
//   32  16 bytes  identity of the log: all segments of one log carry the same
//   48            records
import { crc32 } from "node:zlib";
import { readCount, writeCount } from "./log-record.ts";

export const SEGMENT_HEADER_BYTES = 48;
const MAGIC = Buffer.from("ATOLLLOG");
const VERSION = 1;
const IDENTITY_BYTES = 16;

export interface SegmentHeader {
  readonly epoch: number;
  readonly firstSequence: number;
  /** 32 hex digits, drawn at random. */
  readonly logIdentity: string;
}

export function encodeSegmentHeader(header: SegmentHeader): Buffer {
  const bytes = Buffer.alloc(SEGMENT_HEADER_BYTES);
  MAGIC.copy(bytes);
  bytes.writeUInt32LE(VERSION, 12);
  writeCount(bytes, header.epoch, 16);
  writeCount(bytes, header.firstSequence, 24);
  bytes.write(header.logIdentity, 32, IDENTITY_BYTES, "hex");
  bytes.writeUInt32LE(crc32(bytes.subarray(12)), 8);
  return bytes;
}

/** Null for bytes that are no intact header of this version. */
export function decodeSegmentHeader(bytes: Buffer): SegmentHeader | null {
  if (bytes.length < SEGMENT_HEADER_BYTES || !bytes.subarray(0, 8).equals(MAGIC)) return null;
  if (crc32(bytes.subarray(12, SEGMENT_HEADER_BYTES)) !== bytes.readUInt32LE(8)) return null;
  if (bytes.readUInt32LE(12) !== VERSION) return null;
  return {
    epoch: readCount(bytes, 16),
    firstSequence: readCount(bytes, 24),
    logIdentity: bytes.toString("hex", 32, 32 + IDENTITY_BYTES),
  };
}

export function segmentName(epoch: number, firstSequence: number): string {
  return `${hex(epoch)}-${hex(firstSequence)}.seg`;
}

/** What the sums of a log's records start with: derived from the log's identity, which no tenant sees. */
export function seedOf(logIdentity: string): number {
  return crc32(logIdentity);
}

/** What a file's name says; null when it is no name of a segment. */
export function parseSegmentName(name: string): { readonly epoch: number; readonly firstSequence: number } | null {
  const match = /^([0-9a-f]{14})-([0-9a-f]{14})\.seg$/.exec(name);
  if (match === null) return null;
  return { epoch: Number.parseInt(match[1] ?? "", 16), firstSequence: Number.parseInt(match[2] ?? "", 16) };
}

/** 14 digits hold every safe integer and sort as the numbers do. */
function hex(count: number): string {
  return count.toString(16).padStart(14, "0");
}
