import type { Channel } from "../base/channel.ts";

/**
 * A frame leaves when it has so many messages, or when the turn of the event loop ends. Larger ones would make the two
 * sides take turns, each asleep while the other works; smaller ones would wake it more often than they help.
 */
const MESSAGES_MAX = 8;

/** Batches messages into frames: at full load that divides the cost of crossing threads. */
export class Outbox {
  readonly #channel: Channel;
  #texts: string[] = [];
  #blocks: Uint8Array[] = [];
  #scheduled = false;
  #charsOfTurn = 0;

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  /** Queue a message given as its JSON text. */
  push(text: string): void {
    if (!this.#scheduled) {
      setImmediate(this.#endTurn);
      this.#scheduled = true;
    }
    this.#charsOfTurn += text.length;
    if (this.#texts.push(text) >= MESSAGES_MAX) this.#send();
  }

  /** Characters of text that were said in this turn of the event loop, sent or not. */
  get charsOfTurn(): number {
    return this.#charsOfTurn;
  }

  /** Queue a block; the returned index goes into the message pushed next. */
  block(bytes: Uint8Array): number {
    return this.#blocks.push(bytes) - 1;
  }

  /** Send what is queued now, without waiting for the turn to end. */
  flush(): void {
    if (this.#texts.length > 0) this.#send();
  }

  readonly #endTurn = (): void => {
    this.#scheduled = false;
    this.#charsOfTurn = 0;
    this.flush();
  };

  #send(): void {
    const frame = { text: `[${this.#texts.join(",")}]`, blocks: this.#blocks };
    this.#texts = [];
    this.#blocks = [];
    this.#channel.send(frame);
  }
}
