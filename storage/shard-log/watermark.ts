import { invariant } from "../../base/invariant.ts";

interface Waiter {
  readonly sequence: number;
  readonly resolve: () => void;
  readonly reject: (reason: Error) => void;
}

/** A number that only rises, and the promises that wait for it. */
export class Watermark {
  #value: number;
  #failure: Error | null = null;
  #waiters: Waiter[] = [];

  constructor(value: number) {
    this.#value = value;
  }

  get value(): number {
    return this.#value;
  }

  /** The highest sequence that somebody waits for; 0 when nobody does. */
  get awaited(): number {
    return this.#waiters.reduce((highest, { sequence }) => Math.max(highest, sequence), 0);
  }

  /** Resolves once the mark stands at `sequence` or higher; rejects when it never will. */
  reached(sequence: number): Promise<void> {
    if (sequence <= this.#value) return Promise.resolve();
    if (this.#failure !== null) return Promise.reject(this.#failure);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiters.push({ sequence, resolve, reject });
    return promise;
  }

  raise(value: number): void {
    invariant(value >= this.#value && this.#failure === null, "a watermark only rises");
    this.#value = value;
    const still: Waiter[] = [];
    for (const waiter of this.#waiters) {
      if (waiter.sequence <= value) waiter.resolve();
      else still.push(waiter);
    }
    this.#waiters = still;
  }

  /** It stays where it is for good; who waits for more is told why. */
  fail(reason: Error): void {
    this.#failure ??= reason;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiters) waiter.reject(this.#failure);
  }
}
