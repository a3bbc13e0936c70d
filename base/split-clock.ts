import type { Cancel, Clock } from "./clock.ts";

/**
 * The wall of one clock and the running time of another: stamps agree with the rest of the node, while limits and
 * waits last as long as they really do, even where the node's time stands still.
 */
export class SplitClock implements Clock {
  readonly #wall: Clock;
  readonly #running: Clock;

  constructor(wall: Clock, running: Clock) {
    this.#wall = wall;
    this.#running = running;
  }

  nowMs(): number {
    return this.#wall.nowMs();
  }

  monotonicMs(): number {
    return this.#running.monotonicMs();
  }

  after(delayMs: number, fire: () => void): Cancel {
    return this.#running.after(delayMs, fire);
  }
}
