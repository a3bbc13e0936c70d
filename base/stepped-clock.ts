import type { Cancel, Clock } from "./clock.ts";

interface Timer {
  readonly dueMs: number;
  readonly order: number;
  readonly fire: () => void;
}

/**
 * A clock that moves only when told to. Timers fire in order of due time, then of creation, each at its own due
 * time, and work that they start gets its turn before the next one fires.
 */
export class SteppedClock implements Clock {
  #nowMs: number;
  #monotonicMs = 0;
  #order = 0;
  #timers: Timer[] = [];

  constructor(startMs = Date.UTC(2026, 0, 1)) {
    this.#nowMs = startMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  after(delayMs: number, fire: () => void): Cancel {
    const timer: Timer = { dueMs: this.#monotonicMs + Math.max(0, delayMs), order: this.#order++, fire };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Monotonic time of the earliest timer; Infinity for none. */
  get nextMs(): number {
    return this.#earliest(Number.POSITIVE_INFINITY)?.dueMs ?? Number.POSITIVE_INFINITY;
  }

  /** Move both clocks forward by `ms`, firing what falls due on the way. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#monotonicMs + ms;
    await drain();
    for (;;) {
      const next = this.#earliest(untilMs);
      if (next === null) break;
      this.#timers = this.#timers.filter((other) => other !== next);
      this.#moveTo(Math.max(next.dueMs, this.#monotonicMs));
      next.fire();
      await drain();
    }
    this.#moveTo(untilMs);
    await drain();
  }

  /** A step of the wall clock alone, as an administrator or NTP would make it. */
  stepWall(ms: number): void {
    this.#nowMs += ms;
  }

  #earliest(untilMs: number): Timer | null {
    let best: Timer | null = null;
    for (const timer of this.#timers) {
      if (timer.dueMs > untilMs) continue;
      if (best === null || timer.dueMs < best.dueMs || (timer.dueMs === best.dueMs && timer.order < best.order)) {
        best = timer;
      }
    }
    return best;
  }

  #moveTo(monotonicMs: number): void {
    this.#nowMs += monotonicMs - this.#monotonicMs;
    this.#monotonicMs = monotonicMs;
  }
}

/** Lets promises that are ready run, and the work they queue, without waiting for real time. */
async function drain(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise<void>((resolve) => setImmediate(resolve));
}
