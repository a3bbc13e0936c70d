// A lane: the due times of one kind, and the handler that they wake.
//
// The index on disk is the truth; the lane holds a page of its near end in memory and can forget everything and read
// it again at any time. That is also all it does when the wall clock has been set back, or after a failed commit.
//
//        on disk only ──page──▶ waiting ──due, and a place free──▶ firing ──settled, retried or moved──▶ …
//                     ◀─shrink─                                       (the entry stays on disk all the while)
//
//   L1. An entry is in memory if its time is at most the cursor's, and otherwise counted in `#diskNextMs`; or it is
//       firing. So nothing on disk is forgotten.
//   L2. An entry never fires before its time, and never twice at once.
//   L3. An entry leaves the index only after its handler resolved, and not if it was set or cancelled meanwhile.
//   L4. Not more than MEMORY_MAX entries wait in memory, and not more than `concurrencyMax` fire.
import type { Fields, Logger } from "../../base/log.ts";
import type { Random } from "../../base/random.ts";
import { DUE_START, type DueEntry, type DueIndex, type DuePosition } from "../../storage/shard/due-index.ts";
import { BACKOFF_MS_MAX, backoffMs } from "./backoff.ts";
import type { DueWriter } from "./due-writer.ts";
import { type Timer, TimerWheel, type Verdict } from "./timer-wheel.ts";

/** What a handler learns about the entry that woke it. */
export interface Due {
  readonly key: string;
  /** The time that was set, in Unix milliseconds. */
  readonly dueAtMs: number;
  /** 1 at the first delivery; counts failed deliveries since the entry was set, across restarts. */
  readonly attempt: number;
}

/** At-least-once: resolve when the work is durably done or handed on; reject to be called again with back-off. */
export type DueHandler = (due: Due) => void | Promise<void>;

/** How far ahead a page looks, in milliseconds. */
const WINDOW_MS = 60_000;
/** Entries read from disk at once: about a millisecond of work. */
export const PAGE_ENTRIES = 512;
export const MEMORY_MAX = 8_192;

export interface LaneParts {
  readonly kind: string;
  readonly handler: DueHandler;
  readonly concurrencyMax: number;
  readonly index: DueIndex;
  readonly writer: DueWriter;
  readonly random: Random;
  readonly logger: Logger;
  /** Wall time, in Unix milliseconds. */
  nowMs(): number;
  /** The lane may have something to do earlier than it said. */
  changed(): void;
}

/** `moved`: set or cancelled while firing; the entry that stands in the index now, null for none. */
type Flight = { moved: false } | { moved: true; entry: DueEntry | null };

export class Lane {
  readonly #parts: LaneParts;
  readonly #waiting = new Map<string, Timer<DueEntry>>();
  readonly #firing = new Map<string, Flight>();
  #wheel: TimerWheel<DueEntry>;
  #cursor: DuePosition = DUE_START;
  /** No entry beyond the cursor is due before this. */
  #diskNextMs = 0;
  #stopped = false;
  #idle: PromiseWithResolvers<void> | null = null;

  constructor(parts: LaneParts) {
    this.#parts = parts;
    this.#wheel = new TimerWheel(parts.nowMs());
    this.reload();
  }

  /** Entries held in memory, firing ones included. */
  get entries(): number {
    return this.#waiting.size + this.#firing.size;
  }

  get firing(): number {
    return this.#firing.size;
  }

  /** Wall time at which `tick` has something to do; Infinity for none. */
  get nextMs(): number {
    if (this.#stopped || this.#full) return Number.POSITIVE_INFINITY;
    return Math.min(this.#wheel.nextMs, this.#diskNextMs);
  }

  /** Forget what is in memory and begin again at the start of the index. */
  reload(): void {
    const nowMs = this.#parts.nowMs();
    this.#parts.index.recallRetries(this.#parts.kind, nowMs, nowMs + BACKOFF_MS_MAX);
    this.#rewind(nowMs);
  }

  /** Fire what is due at `nowMs`, looking at no more than `countMax` entries. Returns how many it looked at. */
  tick(nowMs: number, countMax: number): number {
    // The wall clock went back: what was sorted in against the later time may be due in the future again.
    if (nowMs < this.#wheel.elapsedMs) this.reload();
    if (this.#stopped) return 0;
    if (nowMs >= this.#diskNextMs && this.#waiting.size + PAGE_ENTRIES <= MEMORY_MAX) this.#page(nowMs);
    return this.#wheel.advance(nowMs, countMax, (entry) => this.#start(entry));
  }

  /** The entry stands in the index now, durably. */
  noteSet(entry: DueEntry): void {
    const flight = this.#firing.get(entry.key);
    if (flight !== undefined) {
      this.#firing.set(entry.key, { moved: true, entry });
      return;
    }
    this.#place(entry);
  }

  /** The entry is gone from the index, durably. */
  noteRemoved(key: string): void {
    if (this.#firing.has(key)) this.#firing.set(key, { moved: true, entry: null });
    this.#forget(key);
  }

  /** Start nothing more. Resolves when no handler of the lane is running. */
  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#firing.size === 0) return;
    this.#idle ??= Promise.withResolvers();
    await this.#idle.promise;
  }

  get #full(): boolean {
    return this.#firing.size >= this.#parts.concurrencyMax;
  }

  #rewind(nowMs: number): void {
    this.#waiting.clear();
    this.#wheel = new TimerWheel(nowMs);
    this.#cursor = DUE_START;
    this.#page(nowMs);
  }

  #page(nowMs: number): void {
    const { index, kind } = this.#parts;
    const untilMs = nowMs + WINDOW_MS;
    const entries = index.page(kind, this.#cursor, untilMs, PAGE_ENTRIES);
    const last = entries.at(-1);
    if (last !== undefined && entries.length === PAGE_ENTRIES) {
      this.#cursor = last;
      this.#diskNextMs = last.fireAtMs;
    } else {
      // Beyond `untilMs` only: an entry at exactly the next millisecond, whatever its key, is still to be read.
      this.#cursor = { fireAtMs: Math.max(untilMs + 1, this.#cursor.fireAtMs), key: "" };
      this.#diskNextMs = index.firstAfter(kind, this.#cursor.fireAtMs - 1);
    }
    for (const entry of entries) {
      if (!this.#waiting.has(entry.key) && !this.#firing.has(entry.key)) this.#await(entry);
    }
  }

  /** Sort an entry of the index into memory, or leave it on disk (L1). */
  #place(entry: DueEntry): void {
    this.#forget(entry.key);
    if (entry.fireAtMs > this.#cursor.fireAtMs) {
      this.#diskNextMs = Math.min(this.#diskNextMs, entry.fireAtMs);
    } else {
      this.#await(entry);
      // Reading one page again after thousands of insertions costs less than keeping the far end in order.
      if (this.#waiting.size > MEMORY_MAX) this.#rewind(this.#parts.nowMs());
    }
    this.#parts.changed();
  }

  #await(entry: DueEntry): void {
    this.#waiting.set(entry.key, this.#wheel.insert(entry.fireAtMs, entry));
  }

  #forget(key: string): void {
    const timer = this.#waiting.get(key);
    if (timer === undefined) return;
    this.#wheel.remove(timer);
    this.#waiting.delete(key);
  }

  #start(entry: DueEntry): Verdict {
    if (this.#full || this.#stopped) return "refused";
    this.#waiting.delete(entry.key);
    this.#firing.set(entry.key, { moved: false });
    void this.#fire(entry);
    return "taken";
  }

  async #fire(entry: DueEntry): Promise<void> {
    const { handler, kind, logger, writer, random } = this.#parts;
    const { key, dueAtMs, attempts } = entry;
    try {
      let failure: { readonly error: unknown } | null = null;
      try {
        await handler({ key, dueAtMs, attempt: attempts + 1 });
      } catch (error) {
        failure = { error };
      }
      // Set or cancelled meanwhile, durably or not yet: that change decides what becomes of the entry (L3).
      if (this.#firing.get(key)?.moved === true || writer.has(kind, key)) {
        if (failure !== null)
          logger.warn("a due handler failed after its entry had moved", describe(entry, kind, failure.error));
        return;
      }
      if (failure === null) {
        await writer.write({ type: "remove", kind, key });
        return;
      }
      const waitMs = backoffMs(attempts + 1, random);
      logger.warn("a due handler failed and will run again", { ...describe(entry, kind, failure.error), waitMs });
      const fireAtMs = this.#parts.nowMs() + waitMs;
      await writer.write({ type: "retry", kind, key, fireAtMs, attempts: attempts + 1 });
    } catch {
      // The index could not be written. The entry is still in it, and the wheel reads the index again.
    } finally {
      this.#land(entry);
    }
  }

  #land(entry: DueEntry): void {
    const flight = this.#firing.get(entry.key);
    this.#firing.delete(entry.key);
    if (flight?.moved === true && flight.entry !== null) this.#place(flight.entry);
    this.#parts.changed();
    if (this.#firing.size === 0) this.#idle?.resolve();
  }
}

function describe(entry: DueEntry, kind: string, error: unknown): Fields {
  return { kind, key: entry.key, attempt: entry.attempts + 1, error };
}
