// The timer wheel of a shard: the one way to be late.
//
// Two kinds of waits. A *due time* (`register`, `set`, `cancel`) is a wall-clock instant that survives a crash: it lies
// in the shard's index and its handler runs at least once, at or after that instant. A *short wait* (`after`) is a
// duration for watch-dogs and the like: it lives in memory, follows the monotonic clock and dies with the process.
//
//   H1. Nothing fires early: neither after a step of the wall clock nor by rounding.
//   H2. A due time whose `set` resolved fires even if the process is killed at any later instant.
//   H3. One platform timer is pending at most, and a tick does a bounded amount of work before it yields.
//   H4. After a step of the wall clock a due time is late by at most CLOCK_CHECK_MS.
import type { Cancel, Clock } from "../../base/clock.ts";
import { AtollError } from "../../base/errors.ts";
import { invariant } from "../../base/invariant.ts";
import type { Logger } from "../../base/log.ts";
import type { Random } from "../../base/random.ts";
import type { DueChange, DueIndex } from "../../storage/shard/due-index.ts";
import { DueWriter } from "./due-writer.ts";
import { type DueHandler, Lane } from "./lane.ts";
import { TimerWheel } from "./timer-wheel.ts";

/** The monotonic clock does not see a step of the wall clock, so while due times wait the wall is looked at this often. */
const CLOCK_CHECK_MS = 1_000;
/** Timers of one lane that a tick looks at. */
const TICK_COUNT_MAX = 256;
/** After a failed commit the index is read again, in milliseconds. */
const RELOAD_MS = 1_000;
const CONCURRENCY_DEFAULT = 256;
/** Leaves the monotonic clock as much room again before a due time stops being a safe integer. */
const SHORT_WAIT_MS_MAX = 2 ** 52;

export interface WheelParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly index: DueIndex;
  /** How late a due time may be after a step of the wall clock (H4); Infinity for a clock whose wall never steps. */
  readonly clockCheckMs?: number;
}

/** `fenced`: another owner has the shard; every due time is its business now. */
type Phase = "live" | "stopping" | "closed" | "fenced";

export class Wheel {
  readonly #parts: WheelParts;
  readonly #writer: DueWriter;
  readonly #lanes = new Map<string, Lane>();
  readonly #shortWaits: TimerWheel<() => void>;
  #phase: Phase = "live";
  #armed: { readonly atMs: number; readonly cancel: Cancel } | null = null;
  /** In the middle of a change of several steps; the wheel arms itself once, at its end. */
  #busy = false;
  #reloadPending = false;

  constructor(parts: WheelParts) {
    this.#parts = parts;
    this.#shortWaits = new TimerWheel(this.#monotonicMs());
    this.#writer = new DueWriter({
      apply: (changes) => parts.index.apply(changes),
      committed: (changes) => this.#committed(changes),
      failed: (error) => this.#commitFailed(error),
    });
  }

  /** Due times and short waits held in memory; bounded however many lie on disk (short waits excepted). */
  get entriesInMemory(): number {
    let count = this.#shortWaits.size;
    for (const lane of this.#lanes.values()) count += lane.entries;
    return count;
  }

  /** Handlers of due times that run at this moment. */
  get firing(): number {
    let count = 0;
    for (const lane of this.#lanes.values()) count += lane.firing;
    return count;
  }

  /**
   * Say what happens when an entry of `kind` is due; what already is fires as soon as possible. Until a kind is
   * registered its entries stay in the index. `concurrencyMax` handlers of the kind run at once (256 by default), the
   * rest waits; never two of one key.
   */
  register(kind: string, handler: DueHandler, options: { readonly concurrencyMax?: number } = {}): void {
    invariant(/^[a-z][a-z0-9-]*$/.test(kind), "a kind of due time is a lower-case word");
    invariant(!this.#lanes.has(kind), `due times of kind ${kind} have their handler already`);
    this.#assertWritable();
    const { index, random, logger, clock } = this.#parts;
    const lane = new Lane({
      kind,
      handler,
      concurrencyMax: options.concurrencyMax ?? CONCURRENCY_DEFAULT,
      index,
      writer: this.#writer,
      random,
      logger,
      nowMs: () => clock.nowMs(),
      changed: () => this.#arm(),
    });
    this.#lanes.set(kind, lane);
    this.#arm();
  }

  /**
   * Fire (kind, key) once at `dueAtMs`, in place of any earlier time of that key: the handler runs at or after that
   * wall time, until one run resolves. Durable when the promise resolves (H2). Setting a key inside its own handler
   * moves it. Rejects `stale_epoch` when the shard has another owner, `temporarily_unavailable` after `close`.
   */
  async set(kind: string, key: string, dueAtMs: number): Promise<void> {
    invariant(key !== "" && key.isWellFormed(), "a due key is nonempty, well-formed Unicode");
    invariant(Number.isSafeInteger(dueAtMs) && dueAtMs >= 0, "a due time is a whole number of Unix milliseconds");
    this.#assertWritable();
    await this.#writer.write({ type: "set", kind, key, dueAtMs });
  }

  /** Forget (kind, key), durably when the promise resolves; unknown keys are fine. A running handler is not stopped. */
  async cancel(kind: string, key: string): Promise<void> {
    this.#assertWritable();
    await this.#writer.write({ type: "remove", kind, key });
  }

  /** Run `fire` after `ms` (0..2^52) milliseconds of running time, in memory only. A `close` drops it. */
  after(ms: number, fire: () => void): Cancel {
    invariant(ms >= 0 && ms <= SHORT_WAIT_MS_MAX, "a short wait is a number of milliseconds from 0 to 2^52");
    if (!this.#running) return () => {};
    const dueMs = Math.ceil(this.#parts.clock.monotonicMs() + ms);
    const timer = this.#shortWaits.insert(dueMs, fire);
    this.#arm();
    return () => this.#shortWaits.remove(timer);
  }

  /**
   * Start nothing more; resolves when the running handlers have ended and what they wrote is durable. A handler that
   * does not end is waited for; its entry stays in the index, so a caller may also give up and exit.
   */
  async close(): Promise<void> {
    if (this.#phase === "live") this.#phase = "stopping";
    // Short waits go on meanwhile: they may be the watch-dogs of just those handlers.
    await Promise.all([...this.#lanes.values()].map((lane) => lane.stop()));
    this.#writer.flush();
    this.#disarm();
    if (this.#phase === "stopping") this.#phase = "closed";
  }

  get #running(): boolean {
    return this.#phase === "live" || this.#phase === "stopping";
  }

  #tick(): void {
    this.#armed = null;
    const { clock } = this.#parts;
    this.#busy = true;
    try {
      this.#shortWaits.advance(this.#monotonicMs(), TICK_COUNT_MAX, (fire) => {
        this.#runShortWait(fire);
        return "taken";
      });
      for (const lane of this.#lanes.values()) lane.tick(clock.nowMs(), TICK_COUNT_MAX);
    } catch (error) {
      this.#commitFailed(error);
    } finally {
      this.#busy = false;
    }
    this.#arm();
  }

  #runShortWait(fire: () => void): void {
    try {
      fire();
    } catch (error) {
      this.#parts.logger.error("a short wait ended in an exception", { error });
    }
  }

  #arm(): void {
    if (!this.#running || this.#busy) return;
    const { clock } = this.#parts;
    const monotonicMs = clock.monotonicMs();
    const delayMs = Math.max(0, Math.min(this.#shortWaits.nextMs - monotonicMs, this.#untilDueMs(clock.nowMs())));
    if (delayMs === Number.POSITIVE_INFINITY) return;
    const atMs = monotonicMs + delayMs;
    // Being woken too early costs a look at the bitmaps; moving the platform timer at every insertion costs more.
    if (this.#armed !== null && this.#armed.atMs <= atMs) return;
    this.#disarm();
    this.#armed = { atMs, cancel: clock.after(delayMs, () => this.#tick()) };
  }

  #untilDueMs(nowMs: number): number {
    let nextMs = Number.POSITIVE_INFINITY;
    for (const lane of this.#lanes.values()) nextMs = Math.min(nextMs, lane.nextMs);
    const checkMs = this.#parts.clockCheckMs ?? CLOCK_CHECK_MS;
    return nextMs === Number.POSITIVE_INFINITY ? nextMs : Math.min(nextMs - nowMs, checkMs);
  }

  #disarm(): void {
    this.#armed?.cancel();
    this.#armed = null;
  }

  #committed(changes: Iterable<DueChange>): void {
    this.#busy = true;
    try {
      for (const change of changes) this.#noteCommitted(change);
    } finally {
      this.#busy = false;
    }
    this.#arm();
  }

  #noteCommitted(change: DueChange): void {
    const lane = this.#lanes.get(change.kind);
    if (lane === undefined) return;
    switch (change.type) {
      case "set":
        lane.noteSet({ key: change.key, dueAtMs: change.dueAtMs, fireAtMs: change.dueAtMs, attempts: 0 });
        return;
      case "remove":
        lane.noteRemoved(change.key);
        return;
      case "retry": {
        const entry = this.#parts.index.get(change.kind, change.key);
        if (entry !== null) lane.noteSet(entry);
        return;
      }
    }
  }

  #commitFailed(error: unknown): void {
    if (!this.#running) return;
    if (error instanceof AtollError && error.code === "stale_epoch") {
      this.#phase = "fenced";
      this.#disarm();
      this.#parts.logger.error("the shard has another owner; its timers stop here", { error });
      return;
    }
    this.#parts.logger.error("due times could not be written", { error });
    if (this.#reloadPending) return;
    this.#reloadPending = true;
    this.after(RELOAD_MS, () => {
      this.#reloadPending = false;
      this.#reloadLanes();
    });
  }

  #reloadLanes(): void {
    try {
      for (const lane of this.#lanes.values()) lane.reload();
    } catch (error) {
      this.#commitFailed(error);
    }
  }

  #assertWritable(): void {
    // While the wheel stops, the handlers that still run may say what comes next.
    if (this.#running) return;
    if (this.#phase === "fenced") throw new AtollError("stale_epoch", "the shard has another owner");
    throw new AtollError("temporarily_unavailable", "the shard is closed");
  }

  #monotonicMs(): number {
    return Math.floor(this.#parts.clock.monotonicMs());
  }
}
