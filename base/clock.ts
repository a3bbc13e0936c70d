// The port of time. Nothing outside its adapters reads a clock or sets a timer.

/** Cancels a pending timer; calling it twice, or after the timer fired, does nothing. */
export type Cancel = () => void;

export interface Clock {
  /** Wall time in Unix milliseconds; it may step in either direction. */
  nowMs(): number;
  /** Milliseconds from an arbitrary origin; never goes back. Use it for durations and limits. */
  monotonicMs(): number;
  /** Run `fire` once after `delayMs` (0..2^53-1; longer than a platform timer can wait is allowed). */
  after(delayMs: number, fire: () => void): Cancel;
}

/** A platform timer takes a signed 32-bit delay; longer waits are cut into pieces. */
const PLATFORM_DELAY_MS_MAX = 2 ** 31 - 1;

export class SystemClock implements Clock {
  nowMs(): number {
    return Date.now();
  }

  monotonicMs(): number {
    return performance.now();
  }

  after(delayMs: number, fire: () => void): Cancel {
    let left = Math.max(0, delayMs);
    let timer: ReturnType<typeof setTimeout>;
    const arm = (): void => {
      const piece = Math.min(left, PLATFORM_DELAY_MS_MAX);
      left -= piece;
      timer = setTimeout(() => (left > 0 ? arm() : fire()), piece);
    };
    arm();
    return () => clearTimeout(timer);
  }
}

/** HA-22: an RFC 3339 UTC string ending in `Z`, with milliseconds. */
export function rfc3339(unixMs: number): string {
  return new Date(unixMs).toISOString();
}
