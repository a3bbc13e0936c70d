// Log lines on their way to stderr.
//
// A node must not stop because nobody reads its log: writes are asynchronous, what waits is bounded, and lines beyond
// the bound are dropped and counted. So the log may lose lines, but never holds up the node or fills its memory.
import { write } from "node:fs";
import type { Clock } from "../base/clock.ts";

const STDERR = 2;
const WAITING_BYTES_MAX = 4 * 1_048_576;
const CHUNK_BYTES_MAX = 65_536;
/** Before a pipe that was full is tried again. */
const FULL_PIPE_MS = 20;

export class StderrSink {
  readonly #clock: Clock;
  readonly #fd: number;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #dropped = 0;
  #writing = false;
  #drained: PromiseWithResolvers<void> | null = null;

  constructor(clock: Clock, fd = STDERR) {
    this.#clock = clock;
    this.#fd = fd;
  }

  /** One complete line. Never throws, never waits. */
  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.#waitingBytes + bytes.length > WAITING_BYTES_MAX) {
      this.#dropped++;
      return;
    }
    this.#push(bytes);
    this.#pump();
  }

  /** Resolves when everything written so far has left. The caller bounds how long it waits. */
  async flush(): Promise<void> {
    if (!this.#writing) return;
    this.#drained ??= Promise.withResolvers();
    await this.#drained.promise;
  }

  #push(bytes: Buffer): void {
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
  }

  #pump(): void {
    if (this.#writing) return;
    if (this.#waiting.length === 0) {
      this.#drained?.resolve();
      this.#drained = null;
      return;
    }
    this.#writing = true;
    const chunk = this.#takeChunk();
    write(this.#fd, chunk, 0, chunk.length, null, (error, written) => this.#wrote(chunk, error, written));
  }

  #wrote(chunk: Buffer, error: NodeJS.ErrnoException | null, written: number): void {
    const isFull = error?.code === "EAGAIN";
    // A closed stderr swallows everything; there is nobody left to tell.
    const taken = error === null ? written : isFull ? 0 : chunk.length;
    if (taken < chunk.length) this.#waiting.unshift(chunk.subarray(taken));
    this.#waitingBytes -= taken;
    if (this.#dropped > 0 && this.#waitingBytes < WAITING_BYTES_MAX / 2) this.#confess();
    const next = (): void => {
      this.#writing = false;
      this.#pump();
    };
    if (isFull) this.#clock.after(FULL_PIPE_MS, next);
    else next();
  }

  #takeChunk(): Buffer {
    let length = 0;
    let count = 0;
    for (const bytes of this.#waiting) {
      if (count > 0 && length + bytes.length > CHUNK_BYTES_MAX) break;
      length += bytes.length;
      count++;
    }
    return Buffer.concat(this.#waiting.splice(0, count));
  }

  #confess(): void {
    const dropped = this.#dropped;
    this.#dropped = 0;
    this.#push(Buffer.from(`${JSON.stringify({ level: "warn", message: "log lines were dropped", dropped })}\n`));
  }
}
