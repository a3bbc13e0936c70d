// Watches one cell from outside: asks for a sign of life, and stops the cell when it used too much CPU or memory.
import type { Cancel, Clock } from "../../base/clock.ts";
import type { StopReason } from "../cell.ts";
import { ActiveTime } from "./active-time.ts";

export interface CellLimits {
  /** Active CPU of one invocation, or of loading, in milliseconds. */
  readonly cpuMs: number;
  /** Heap of one cell in bytes. */
  readonly memoryBytes: number;
}

export interface Watched {
  /** CPU time of the cell so far in milliseconds; null when unknown. */
  cpuMs(): number | null;
  ping(n: number): void;
  /** Invocations under way, or loading. */
  open(): ReadonlySet<number>;
  condemn(reason: StopReason): void;
}

/** How often a busy cell is looked at. */
const LOOK_MS = 50;
/**
 * A thread can be blocked without using CPU only inside a native wait; no legitimate one lasts longer than this
 * multiple of the CPU limit.
 */
const BLOCKED_WALL_FACTOR = 4;

export class CellWatchdog {
  readonly #clock: Clock;
  readonly #limits: CellLimits;
  readonly #cell: Watched;
  readonly #active: ActiveTime;
  #timer: Cancel | null = null;
  #pings = 0;
  /** The unanswered ping, with the clock and the CPU when it was sent. */
  #waiting: { readonly sinceMs: number; readonly cpuMs: number } | null = null;

  constructor(clock: Clock, limits: CellLimits, cell: Watched) {
    this.#clock = clock;
    this.#limits = limits;
    this.#cell = cell;
    this.#active = new ActiveTime(limits);
  }

  /** True while the cell has owed us a sign of life for `ms`. */
  blockedFor(ms: number): boolean {
    return this.#waiting !== null && this.#clock.monotonicMs() - this.#waiting.sinceMs >= ms;
  }

  /** There is work: start looking, until there is none. */
  wake(): void {
    this.#timer ??= this.#clock.after(LOOK_MS, this.#look);
  }

  stop(): void {
    this.#timer?.();
    this.#timer = null;
    this.#waiting = null;
  }

  pong(heapBytes: number, attributed: readonly (readonly [number, number])[]): void {
    this.#waiting = null;
    if (heapBytes > this.#limits.memoryBytes) {
      this.#cell.condemn("memory");
      return;
    }
    const cpuMs = this.#cell.cpuMs();
    if (cpuMs !== null && this.#active.look(cpuMs, this.#cell.open(), attributed)) this.#cell.condemn("cpu");
  }

  readonly #look = (): void => {
    this.#timer = null;
    const open = this.#cell.open();
    if (open.size === 0 && this.#waiting === null) return;
    const now = this.#clock.monotonicMs();
    const cpuMs = this.#cell.cpuMs() ?? 0;
    if (this.#waiting === null) {
      this.#waiting = { sinceMs: now, cpuMs };
      this.#cell.ping(++this.#pings);
    } else if (
      cpuMs - this.#waiting.cpuMs >= this.#limits.cpuMs ||
      now - this.#waiting.sinceMs >= this.#limits.cpuMs * BLOCKED_WALL_FACTOR
    ) {
      this.#cell.condemn("cpu");
      return;
    }
    this.wake();
  };
}
