// The payload of a log record that carries commits of one actor's store. Numbers are little-endian, but for the frames,
// which are SQLite's own and big-endian.
//
//    0  u8   version of this layout: 1
//    1  u8   1 when the store had never committed before: its base is the template, not a file
//    2  u16  0
//    4  u32  bytes of a page
//    8  u64  lineage of the store: drawn at its first commit, kept in its file, the same in all of its records
//   16       frames of the -wal file, the last of which ends a transaction
import { AtollError } from "../../base/errors.ts";
import { FRAME_BYTES, FRAME_HEADER_BYTES, PAGE_BYTES } from "./wal-tail.ts";

const HEADER_BYTES = 16;
const VERSION = 1;

export interface CommitPayload {
  readonly born: boolean;
  readonly lineage: bigint;
  readonly frames: Uint8Array;
}

export function encodeCommit({ born, lineage, frames }: CommitPayload): Buffer {
  const bytes = Buffer.allocUnsafeSlow(HEADER_BYTES + frames.length);
  bytes.writeUInt8(VERSION, 0);
  bytes.writeUInt8(born ? 1 : 0, 1);
  bytes.writeUInt16LE(0, 2);
  bytes.writeUInt32LE(PAGE_BYTES, 4);
  bytes.writeBigUInt64LE(lineage, 8);
  bytes.set(frames, HEADER_BYTES);
  return bytes;
}

/** Throws `store_damaged` for bytes that are no such payload. */
export function decodeCommit(bytes: Buffer): CommitPayload {
  const frames = bytes.subarray(HEADER_BYTES);
  const fits =
    bytes.length > HEADER_BYTES &&
    bytes.readUInt8(0) === VERSION &&
    bytes.readUInt32LE(4) === PAGE_BYTES &&
    frames.length % FRAME_BYTES === 0 &&
    frames.readUInt32BE(frames.length - FRAME_BYTES + 4) > 0;
  if (!fits) throw new AtollError("store_damaged", "a log record of an actor's store cannot be read");
  return { born: bytes.readUInt8(1) === 1, lineage: bytes.readBigUInt64LE(8), frames };
}

/** Shows each page of `frames` to `visit`, in order. A store's file never shrinks, so their sizes are not needed. */
export function eachPage(frames: Uint8Array, visit: (page: number, image: Uint8Array) => void): void {
  const view = new DataView(frames.buffer, frames.byteOffset, frames.byteLength);
  for (let at = 0; at < frames.length; at += FRAME_BYTES) {
    visit(view.getUint32(at), frames.subarray(at + FRAME_HEADER_BYTES, at + FRAME_BYTES));
  }
}
