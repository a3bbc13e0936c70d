// Frames as bytes, for a cell that is a process: a header of 32-bit little-endian numbers (bytes of text, number of
// blocks, bytes of each block), then the text in UTF-8, then the blocks.
import type { Frame } from "../../base/channel.ts";

/** Bounds of what a receiver takes. A sender that exceeds them is broken or hostile. */
export interface FrameBounds {
  /** Text and blocks of one frame together. */
  readonly frameBytesMax: number;
  readonly blocksMax: number;
}

/** What a host takes from a cell: bodies are bounded by credit, and texts by the cell's own restraint. */
export const FROM_CELL: FrameBounds = { frameBytesMax: 64 * 2 ** 20, blocksMax: 4_096 };
/** What a cell takes from its host, which sends it a whole bundle at once. */
export const FROM_HOST: FrameBounds = { frameBytesMax: 2 ** 30, blocksMax: 4_096 };

/** The bytes do not make a frame within the bounds; nothing after them can be understood. */
export class FrameFault extends Error {
  override readonly name = "FrameFault";
}

const NUMBER_BYTES = 4;

/** The bytes of a frame, in pieces to be written one after the other. The blocks are not copied. */
export function encodeFrame({ text, blocks }: Frame): Uint8Array[] {
  const textBytes = Buffer.from(text, "utf8");
  const header = Buffer.alloc(NUMBER_BYTES * (2 + blocks.length));
  header.writeUInt32LE(textBytes.byteLength, 0);
  header.writeUInt32LE(blocks.length, NUMBER_BYTES);
  for (const [index, block] of blocks.entries()) {
    header.writeUInt32LE(block.byteLength, NUMBER_BYTES * (2 + index));
  }
  return [header, textBytes, ...blocks.filter(({ byteLength }) => byteLength > 0)];
}

/** Puts frames together from bytes that arrive in any pieces. */
export class FrameDecoder {
  readonly #bounds: FrameBounds;
  #pieces: Uint8Array[] = [];
  #heldBytes = 0;
  /** Sizes of text and blocks of the frame that is being received, once its header is there. */
  #sizes: readonly number[] | null = null;

  constructor(bounds: FrameBounds) {
    this.#bounds = bounds;
  }

  /** Take more bytes, which must not change afterwards; returns the frames that they complete. Throws FrameFault. */
  push(bytes: Uint8Array): Frame[] {
    if (bytes.byteLength > 0) {
      this.#pieces.push(bytes);
      this.#heldBytes += bytes.byteLength;
    }
    const frames: Frame[] = [];
    for (let frame = this.#next(); frame !== null; frame = this.#next()) frames.push(frame);
    return frames;
  }

  #next(): Frame | null {
    this.#sizes ??= this.#readHeader();
    if (this.#sizes === null) return null;
    const [textBytes = 0, ...blockBytes] = this.#sizes;
    if (this.#heldBytes < sum(this.#sizes)) return null;
    this.#sizes = null;
    const text = asBuffer(this.#take(textBytes)).toString("utf8");
    // Copies: a block's memory belongs to whoever receives the frame, and to nobody else.
    return { text, blocks: blockBytes.map((size) => new Uint8Array(this.#take(size))) };
  }

  #readHeader(): readonly number[] | null {
    const head = this.#peek(2 * NUMBER_BYTES);
    if (head === null) return null;
    const textBytes = head.readUInt32LE(0);
    const count = head.readUInt32LE(NUMBER_BYTES);
    if (count > this.#bounds.blocksMax) throw new FrameFault(`a frame of ${count} blocks`);
    const headerBytes = NUMBER_BYTES * (2 + count);
    const header = this.#peek(headerBytes);
    if (header === null) return null;
    const sizes = [textBytes];
    for (let i = 0; i < count; i++) sizes.push(header.readUInt32LE(NUMBER_BYTES * (2 + i)));
    if (sum(sizes) > this.#bounds.frameBytesMax) throw new FrameFault(`a frame of ${sum(sizes)} bytes`);
    this.#take(headerBytes);
    return sizes;
  }

  /** The next `count` bytes without taking them, or null when fewer are there. */
  #peek(count: number): Buffer | null {
    if (this.#heldBytes < count) return null;
    if ((this.#pieces[0]?.byteLength ?? 0) < count) this.#pieces = [Buffer.concat(this.#pieces)];
    return asBuffer((this.#pieces[0] ?? new Uint8Array()).subarray(0, count));
  }

  #take(count: number): Uint8Array {
    this.#heldBytes -= count;
    const first = this.#pieces[0];
    if (first !== undefined && first.byteLength >= count) {
      if (first.byteLength === count) this.#pieces.shift();
      else this.#pieces[0] = first.subarray(count);
      return first.subarray(0, count);
    }
    const whole = new Uint8Array(count);
    for (let filled = 0; filled < count; ) {
      const piece = this.#pieces.shift() ?? new Uint8Array();
      const part = piece.subarray(0, count - filled);
      whole.set(part, filled);
      filled += part.byteLength;
      if (part.byteLength < piece.byteLength) this.#pieces.unshift(piece.subarray(part.byteLength));
    }
    return whole;
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
