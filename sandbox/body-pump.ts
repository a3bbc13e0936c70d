import type { Outbox } from "./outbox.ts";
import { BLOCK_BYTES_MIN, BODY_WINDOW_BYTES, CHUNK_BYTES_MAX, Op } from "./protocol.ts";

type Reader = Pick<ReturnType<typeof readerOf>, "read" | "cancel">;
const readerOf = (body: ReadableStream<Uint8Array>) => body.getReader();

/**
 * Sends one body to a cell as its consumer grants credit (P1). Reads ahead by one chunk of the source at most, so the
 * source feels the consumer's pace.
 */
export class BodyPump {
  readonly #outbox: Outbox;
  readonly #id: number;
  readonly #reader: Reader;
  #creditBytes = BODY_WINDOW_BYTES;
  #wake: (() => void) | null = null;
  #stopped = false;

  constructor(outbox: Outbox, id: number, body: ReadableStream<Uint8Array>) {
    this.#outbox = outbox;
    this.#id = id;
    this.#reader = readerOf(body);
  }

  /** Never rejects; resolves when nothing more will be sent. */
  async run(): Promise<void> {
    try {
      for (;;) {
        const { done, value } = await this.#reader.read();
        if (this.#stopped) return;
        if (done) break;
        await this.#send(value);
        if (this.#stopped) return;
      }
      this.#outbox.push(`[${Op.end},${this.#id}]`);
    } catch {
      if (!this.#stopped) this.#outbox.push(`[${Op.error},${this.#id},"the request body broke off"]`);
    }
  }

  credit(bytes: number): void {
    this.#creditBytes += bytes;
    this.#resume();
  }

  /** The receiver wants no more, or is gone. */
  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#resume();
    this.#reader.cancel().catch(() => {});
  }

  #resume(): void {
    this.#wake?.();
    this.#wake = null;
  }

  async #send(bytes: Uint8Array): Promise<void> {
    for (let from = 0; from < bytes.byteLength; ) {
      while (this.#creditBytes <= 0 && !this.#stopped) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
      if (this.#stopped) return;
      const count = Math.min(CHUNK_BYTES_MAX, this.#creditBytes, bytes.byteLength - from);
      this.#creditBytes -= count;
      this.#sendChunk(bytes.subarray(from, from + count));
      from += count;
    }
  }

  #sendChunk(piece: Uint8Array): void {
    if (piece.byteLength < BLOCK_BYTES_MIN) {
      const text = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength).toString("latin1");
      this.#outbox.push(`[${Op.chunk},${this.#id},${JSON.stringify(text)},0]`);
      return;
    }
    // A copy: the source may own the memory, and the block changes hands. (A Buffer's own slice would be no copy.)
    const block = this.#outbox.block(new Uint8Array(piece));
    this.#outbox.push(`[${Op.chunk},${this.#id},null,${block}]`);
  }
}
