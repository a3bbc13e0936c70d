import type { Clock } from "../../base/clock.ts";

/** A request that waits for its response head. */
export interface Waiting {
  readonly request: Request;
  abort(): void;
}

/** Requests that are answered faster than this never pay for being watched. */
const LOOK_MS = 20;

/**
 * Tells waiting requests when their client goes away. A request's abort signal costs several times what the rest of a
 * fast request costs, so it is asked for only when the answer takes longer than a look.
 */
export class AbortWatch {
  readonly #clock: Clock;
  /** Those that have seen no look yet, then those that have seen one. */
  #fresh = new Set<Waiting>();
  #seen = new Set<Waiting>();
  #looking = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(waiting: Waiting): void {
    this.#fresh.add(waiting);
    if (this.#looking) return;
    this.#looking = true;
    this.#clock.after(LOOK_MS, this.#look);
  }

  delete(waiting: Waiting): void {
    if (!this.#fresh.delete(waiting)) this.#seen.delete(waiting);
  }

  readonly #look = (): void => {
    for (const waiting of this.#seen) {
      const { signal } = waiting.request;
      if (signal.aborted) waiting.abort();
      else signal.addEventListener("abort", () => waiting.abort());
    }
    this.#seen = this.#fresh;
    this.#fresh = new Set();
    this.#looking = this.#seen.size > 0;
    if (this.#looking) this.#clock.after(LOOK_MS, this.#look);
  };
}
