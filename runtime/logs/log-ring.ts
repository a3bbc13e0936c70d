import type { LogEntry } from "./log-entry.ts";

/** An entry with its place in the order of everything that this run of the node told. */
export interface Numbered {
  /** Grows by one with every entry, from 1. */
  readonly seq: number;
  readonly entry: LogEntry;
}

export interface RingLimits {
  readonly entriesMax: number;
  /** Of all texts together, in UTF-16 units. */
  readonly charsMax: number;
}

/** The newest entries of one kind of one Worker, within bounds. */
export class LogRing {
  readonly #limits: RingLimits;
  readonly #slots: (Numbered | undefined)[];
  #first = 0;
  #size = 0;
  #chars = 0;
  #evictedSeq = 0;

  constructor(limits: RingLimits) {
    this.#limits = limits;
    this.#slots = [];
  }

  /** The highest number that had to go; 0 for none. */
  get evictedSeq(): number {
    return this.#evictedSeq;
  }

  get newestSeq(): number {
    return this.#size === 0 ? this.#evictedSeq : (this.#at(this.#size - 1)?.seq ?? 0);
  }

  push(numbered: Numbered): void {
    const { entriesMax, charsMax } = this.#limits;
    if (this.#size === entriesMax) this.#evict();
    this.#slots[(this.#first + this.#size) % entriesMax] = numbered;
    this.#size += 1;
    this.#chars += charsOf(numbered.entry);
    // The newest stays, however long it is: the source bounds a single line.
    while (this.#chars > charsMax && this.#size > 1) this.#evict();
  }

  /** Oldest first. */
  *[Symbol.iterator](): Generator<Numbered> {
    for (let i = 0; i < this.#size; i++) {
      const numbered = this.#at(i);
      if (numbered !== undefined) yield numbered;
    }
  }

  #at(i: number): Numbered | undefined {
    return this.#slots[(this.#first + i) % this.#limits.entriesMax];
  }

  #evict(): void {
    const oldest = this.#slots[this.#first];
    this.#slots[this.#first] = undefined;
    this.#first = (this.#first + 1) % this.#limits.entriesMax;
    this.#size -= 1;
    if (oldest === undefined) return;
    this.#chars -= charsOf(oldest.entry);
    this.#evictedSeq = oldest.seq;
  }
}

/** What an entry weighs: its text, and a little for everything else. */
export function charsOf(entry: LogEntry): number {
  return 64 + (entry.kind === "request" ? entry.path.length : entry.message.length);
}
