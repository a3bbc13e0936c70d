// Reading what a connection has committed from its -wal file.
//
// The file: a header of 32 bytes (page size at 8, two salts at 16), then frames of 24 + page bytes: page number, size of
// the database in pages when the frame ends a transaction and 0 otherwise, the salts, two sums, the page. All big-endian.
//
//   W1. Read after a commit of the only connection, the newest frame that ends a transaction is that commit's. Frames
//       behind it belong to a transaction that was rolled back after it had spilled, and never end one; frames of an
//       older generation have other salts.
//   W2. No descriptor of the database file itself is opened here: closing one would drop the locks of the connection.
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { invariant } from "../../base/invariant.ts";

export const PAGE_BYTES = 4096;
const WAL_HEADER_BYTES = 32;
export const FRAME_HEADER_BYTES = 24;
export const FRAME_BYTES = FRAME_HEADER_BYTES + PAGE_BYTES;
/** Most commits have one to four frames. */
const FIRST_READ_FRAMES = 4;

export class WalTail {
  readonly #descriptor: number;
  readonly #header = Buffer.alloc(WAL_HEADER_BYTES);
  #salts = 0n;
  /** Where the frames that were not read yet begin. */
  #offset = 0;

  /** `path` is the -wal file of a connection that has used its database. It must be empty or hold no frames in use. */
  constructor(path: string) {
    this.#descriptor = openSync(path, "r");
  }

  /** Frames committed and read since the last reset, in bytes. */
  get bytes(): number {
    return Math.max(0, this.#offset - WAL_HEADER_BYTES);
  }

  /** The frames of all commits since the last call, raw; null when they changed nothing. A copy of the caller's own. */
  read(): Buffer | null {
    if (readSync(this.#descriptor, this.#header, 0, WAL_HEADER_BYTES, 0) < WAL_HEADER_BYTES) return null;
    const salts = this.#header.readBigUInt64BE(16);
    if (salts !== this.#salts || this.#offset === 0) {
      invariant(this.#header.readUInt32BE(8) === PAGE_BYTES, "an actor's store has pages of 4096 bytes");
      this.#salts = salts;
      this.#offset = WAL_HEADER_BYTES;
    }
    const frames = this.#committedFrames();
    if (frames === null) return null;
    this.#offset += frames.length;
    return frames;
  }

  /** The file was emptied by a checkpoint; the next commit starts at its beginning. */
  reset(): void {
    this.#offset = 0;
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  #committedFrames(): Buffer | null {
    let bytes = Buffer.allocUnsafeSlow(FIRST_READ_FRAMES * FRAME_BYTES);
    let filled = readSync(this.#descriptor, bytes, 0, bytes.length, this.#offset);
    if (filled === bytes.length) {
      // More than usual: take all that there is, once.
      const rest = fstatSync(this.#descriptor).size - this.#offset;
      const whole = Buffer.allocUnsafeSlow(Math.floor(rest / FRAME_BYTES) * FRAME_BYTES);
      filled = 0;
      for (let count = -1; count !== 0 && filled < whole.length; filled += count) {
        count = readSync(this.#descriptor, whole, filled, whole.length - filled, this.#offset + filled);
      }
      bytes = whole;
    }
    let committed = 0;
    for (let at = 0; at + FRAME_BYTES <= filled; at += FRAME_BYTES) {
      if (bytes.readBigUInt64BE(at + 8) !== this.#salts) break;
      if (bytes.readUInt32BE(at + 4) !== 0) committed = at + FRAME_BYTES;
    }
    return committed === 0 ? null : bytes.subarray(0, committed);
  }
}
