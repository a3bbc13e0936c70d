import type { LogFile } from "./log-disk.ts";

/** How much is read at once. */
const CHUNK_BYTES = 1 << 20;

/** A part of a segment in memory that moves with the reader, so that a scan costs the same memory however long the log. */
export class SegmentWindow {
  /** Length of the segment in bytes. */
  readonly size: number;
  readonly #file: LogFile;
  #bytes: Buffer = Buffer.alloc(0);
  #start = 0;

  constructor(file: LogFile) {
    this.#file = file;
    this.size = file.size();
  }

  /** The bytes from `at` on, `length` of them or what the file still has. Valid until the next call. */
  view(at: number, length: number): Buffer {
    if (at < this.#start || at + length > this.#start + this.#bytes.length) this.#load(at, length);
    return this.#bytes.subarray(at - this.#start, at - this.#start + length);
  }

  /** The first multiple of 8 at or after `from`, one itself, where the word `magic` stands; null when there is none. */
  find(magic: number, from: number): number | null {
    const wanted = Buffer.alloc(4);
    wanted.writeUInt32LE(magic);
    for (let at = from; at + 8 <= this.size; ) {
      const bytes = this.#rest(at);
      const found = bytes.indexOf(wanted);
      if (found >= 0 && (at + found) % 8 === 0) return at + found;
      // A word at a multiple of 8 never lies across the edge of two windows that both start at one.
      at += found < 0 ? bytes.length & ~7 : (found & ~7) + 8;
    }
    return null;
  }

  /** Whether any byte of the file is not zero. */
  holdsAnything(): boolean {
    for (let at = 0; at < this.size; at += CHUNK_BYTES) {
      if (this.view(at, CHUNK_BYTES).some((byte) => byte !== 0)) return true;
    }
    return false;
  }

  /** What is in memory from `at` on: at least 8 bytes, when the file has them. */
  #rest(at: number): Buffer {
    const left = this.#start + this.#bytes.length - at;
    if (at < this.#start || left < 8) this.#load(at, CHUNK_BYTES);
    return this.#bytes.subarray(at - this.#start);
  }

  #load(at: number, length: number): void {
    const wanted = Math.min(Math.max(length, CHUNK_BYTES), Math.max(0, this.size - at));
    const bytes = Buffer.allocUnsafeSlow(wanted);
    let filled = 0;
    while (filled < wanted) {
      const count = this.#file.read(bytes.subarray(filled), at + filled);
      if (count === 0) break;
      filled += count;
    }
    this.#bytes = bytes.subarray(0, filled);
    this.#start = at;
  }
}
