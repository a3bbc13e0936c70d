import type { Cancel, Clock } from "../../base/clock.ts";
import type { Wheel } from "./wheel.ts";

/**
 * A Clock whose timers wait in a wheel: any number of watch-dogs and retries costs one platform timer. Its timers end
 * with the wheel's `close`, so whoever has to wait beyond that takes the clock below.
 */
export class WheelClock implements Clock {
  readonly #clock: Clock;
  readonly #wheel: Wheel;

  constructor(clock: Clock, wheel: Wheel) {
    this.#clock = clock;
    this.#wheel = wheel;
  }

  nowMs(): number {
    return this.#clock.nowMs();
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs();
  }

  after(delayMs: number, fire: () => void): Cancel {
    // Beyond 2^52 ms, some 142,000 years, the difference is not seen.
    return this.#wheel.after(Math.min(Math.max(0, delayMs), 2 ** 52), fire);
  }
}
