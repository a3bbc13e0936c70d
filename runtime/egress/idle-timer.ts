import type { Cancel, Clock } from "../../base/clock.ts";

/**
 * Fires once when nothing has happened for `idleMs` while it runs. `touch` costs no timer: the one that runs looks
 * for the last touch when it is due, and waits for the rest.
 */
export class IdleTimer {
  readonly #clock: Clock;
  readonly #idleMs: number;
  readonly #fire: () => void;
  #lastMs = 0;
  #cancel: Cancel | null = null;

  constructor(clock: Clock, idleMs: number, fire: () => void) {
    this.#clock = clock;
    this.#idleMs = idleMs;
    this.#fire = fire;
  }

  /** Begin to wait, from now. */
  start(): void {
    this.touch();
    if (this.#cancel === null) this.#arm(this.#idleMs);
  }

  /** Something happened. */
  touch(): void {
    this.#lastMs = this.#clock.monotonicMs();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
  }

  #arm(delayMs: number): void {
    this.#cancel = this.#clock.after(delayMs, () => {
      this.#cancel = null;
      const leftMs = this.#lastMs + this.#idleMs - this.#clock.monotonicMs();
      if (leftMs > 0) this.#arm(leftMs);
      else this.#fire();
    });
  }
}
