// Watches one cell from outside: asks for a sign of life, and stops the cell when it used too much CPU or memory.
import type { Cancel, Clock } from "../../base/clock.ts";
import type { StopReason } from "../cell.ts";
import { ActiveTime } from "./active-time.ts";

export interface CellLimits {
  /** Active CPU of one invocation, or of loading, in milliseconds. */
  readonly cpuMs: number;
  /** Heap of one cell in bytes; also how much it may make its process grow while it does not answer. */
  readonly memoryBytes: number;
}

/** How large the process is that holds the cell, and how much of its growth is the cell's. */
export interface MemoryUse {
  readonly residentBytes: number;
  /** Pages touched for the first time so far, by the whole process and by the cell's thread. */
  readonly processFaults: number;
  readonly cellFaults: number;
}

export interface Watched {
  /** CPU time of the cell so far in milliseconds; null when unknown. */
  cpuMs(): number | null;
  memory(): MemoryUse;
  /** Ask for a pong; with `collect`, after the garbage has been collected. */
  ping(n: number, collect: boolean): void;
  /** Invocations under way, or loading. */
  open(): ReadonlySet<number>;
  condemn(reason: StopReason): void;
}

/** How often a busy cell is looked at. */
const LOOK_MS = 50;
/** How often a cell without work is: code may go on in it. */
const IDLE_LOOK_MS = 2_000;
/**
 * A thread can be blocked without using CPU only inside a native wait; no legitimate one lasts longer than this
 * multiple of the CPU limit.
 */
const BLOCKED_WALL_FACTOR = 4;
/**
 * The account of who touched which page is not complete, because helpers of the engine touch some for a cell; so a cell
 * that was busy, as far as a busy machine let it, answers for any growth that exceeds its bound so many times.
 */
const UNCLAIMED_FACTOR = 8;
const BUSY = 0.1;

/** The unanswered ping, and how things stood when it was sent. */
interface Waiting {
  readonly sinceMs: number;
  readonly cpuMs: number;
  readonly memory: MemoryUse;
}

export class CellWatchdog {
  readonly #clock: Clock;
  readonly #limits: CellLimits;
  readonly #cell: Watched;
  readonly #active: ActiveTime;
  #timer: Cancel | null = null;
  #pace: "busy" | "idle" | "stopped" = "idle";
  #pings = 0;
  #waiting: Waiting | null = null;
  #lastLookMs: number;
  /** The cell said that its heap is too large; whether that is garbage shows after a collection. */
  #collect = false;

  constructor(clock: Clock, limits: CellLimits, cell: Watched) {
    this.#clock = clock;
    this.#limits = limits;
    this.#cell = cell;
    this.#active = new ActiveTime(limits);
    this.#lastLookMs = clock.monotonicMs();
  }

  /** True while the cell has owed us a sign of life for `ms`. */
  blockedFor(ms: number): boolean {
    return this.#waiting !== null && this.#clock.monotonicMs() - this.#waiting.sinceMs >= ms;
  }

  /** There is work: look often until there is none. */
  wake(): void {
    if (this.#pace !== "idle") return;
    this.#pace = "busy";
    this.#arm(LOOK_MS);
  }

  stop(): void {
    this.#timer?.();
    this.#timer = null;
    this.#pace = "stopped";
    this.#waiting = null;
  }

  pong(heapBytes: number, attributed: readonly (readonly [number, number])[]): void {
    if (this.#pace === "stopped" || this.#waiting === null) return;
    this.#waiting = null;
    if (heapBytes > this.#limits.memoryBytes && this.#collect) {
      this.#cell.condemn("memory");
      return;
    }
    this.#collect = heapBytes > this.#limits.memoryBytes;
    this.#account(attributed);
  }

  #arm(delayMs: number): void {
    this.#timer?.();
    this.#timer = this.#clock.after(delayMs, this.#look);
  }

  readonly #look = (): void => {
    this.#timer = null;
    if (this.#cell.open().size === 0 && this.#waiting === null && !this.#collect) {
      this.#pace = "idle";
      this.#account([]);
    } else if (this.#waiting === null) {
      this.#waiting = {
        sinceMs: this.#clock.monotonicMs(),
        cpuMs: this.#cell.cpuMs() ?? 0,
        memory: this.#cell.memory(),
      };
      this.#cell.ping(++this.#pings, this.#collect);
    } else {
      this.#judgeSilence(this.#waiting);
    }
    if (this.#pace !== "stopped") this.#arm(this.#pace === "busy" ? LOOK_MS : IDLE_LOOK_MS);
  };

  #account(attributed: readonly (readonly [number, number])[]): void {
    const cpuMs = this.#cell.cpuMs();
    if (cpuMs === null) return;
    const nowMs = this.#clock.monotonicMs();
    const elapsedMs = nowMs - this.#lastLookMs;
    this.#lastLookMs = nowMs;
    if (this.#active.look({ cpuMs, elapsedMs, open: this.#cell.open(), attributed })) this.#cell.condemn("cpu");
  }

  /** The cell has not answered since the last look at least. */
  #judgeSilence(waiting: Waiting): void {
    const silentMs = this.#clock.monotonicMs() - waiting.sinceMs;
    const usedMs = (this.#cell.cpuMs() ?? 0) - waiting.cpuMs;
    // A thread that does not come to answer cannot be asked for its heap, but its process shows how it grows.
    if (this.#isGrowing(waiting.memory, usedMs >= silentMs * BUSY)) this.#cell.condemn("memory");
    else if (usedMs >= this.#limits.cpuMs || silentMs >= this.#limits.cpuMs * BLOCKED_WALL_FACTOR) {
      this.#cell.condemn("cpu");
    }
  }

  /** Whether the blocked cell has made its process grow beyond the bound since `before`. */
  #isGrowing(before: MemoryUse, isBusy: boolean): boolean {
    const { memoryBytes } = this.#limits;
    const now = this.#cell.memory();
    const grownBytes = now.residentBytes - before.residentBytes;
    const share = (now.cellFaults - before.cellFaults) / Math.max(1, now.processFaults - before.processFaults);
    return grownBytes * share > memoryBytes || (isBusy && grownBytes > memoryBytes * UNCLAIMED_FACTOR);
  }
}
