import type { Channel } from "../base/channel.ts";

/**
 * Batches messages into frames: everything said within one turn of the event loop travels as one frame. At full load
 * that divides the cost of crossing threads by the number of events under way.
 */
export class Outbox {
  readonly #channel: Channel;
  #texts: string[] = [];
  #blocks: Uint8Array[] = [];
  #scheduled = false;
  #waitingChars = 0;

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  /** Queue a message given as its JSON text. */
  push(text: string): void {
    if (!this.#scheduled) {
      setImmediate(this.#flush);
      this.#scheduled = true;
    }
    this.#texts.push(text);
    this.#waitingChars += text.length;
  }

  /** Characters of text that wait to be sent. */
  get waitingChars(): number {
    return this.#waitingChars;
  }

  /** Queue a block; the returned index goes into the message pushed next. */
  block(bytes: Uint8Array): number {
    return this.#blocks.push(bytes) - 1;
  }

  /** Send what is queued now, without waiting for the turn to end. */
  flush(): void {
    this.#flush();
  }

  readonly #flush = (): void => {
    this.#scheduled = false;
    if (this.#texts.length === 0) return;
    const frame = { text: `[${this.#texts.join(",")}]`, blocks: this.#blocks };
    this.#texts = [];
    this.#blocks = [];
    this.#waitingChars = 0;
    this.#channel.send(frame);
  };
}
