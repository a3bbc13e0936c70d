import type { LogFilter } from "./log-filter.ts";
import { charsOf, type Numbered } from "./log-ring.ts";

/** What a subscriber takes at once. */
export interface Batch {
  readonly entries: readonly Numbered[];
  /** Entries behind these that the subscriber was too slow for. */
  readonly lost: number;
}

export interface SubscriptionLimits {
  readonly entriesMax: number;
  /** In UTF-16 units. */
  readonly charsMax: number;
}

/**
 * One listener's own queue. It is bounded: while it is full, newer entries are counted and let go, and the listener
 * finds the count behind the entries that it still got. So a slow listener costs the producer one comparison.
 */
export class LogSubscription {
  readonly filter: LogFilter;
  /** Entries from before the subscription may be missing, because they were kept no longer. */
  readonly gap: boolean;
  /** The number behind which the subscription begins. */
  readonly startSeq: number;
  readonly #limits: SubscriptionLimits;
  readonly #leave: (subscription: LogSubscription) => void;
  #waiting: Numbered[];
  /** As many entries may wait now. */
  #room: number;
  #chars = 0;
  #lost = 0;
  #closed = false;
  #wake: (() => void) | null = null;

  constructor(parts: {
    readonly filter: LogFilter;
    readonly history: readonly Numbered[];
    readonly gap: boolean;
    readonly startSeq: number;
    readonly limits: SubscriptionLimits;
    readonly leave: (subscription: LogSubscription) => void;
  }) {
    this.filter = parts.filter;
    this.gap = parts.gap;
    this.startSeq = parts.startSeq;
    this.#limits = parts.limits;
    this.#leave = parts.leave;
    // The past was bounded when it was kept; it does not use up the room for what comes.
    this.#waiting = [...parts.history];
    this.#room = parts.history.length + parts.limits.entriesMax;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Called by the bus for an entry that matches. False when it had to be let go. */
  offer(numbered: Numbered): boolean {
    // Behind the first gap everything is let go until the listener has taken what waits, so a count has one place.
    const full = this.#waiting.length >= this.#room || this.#chars > this.#limits.charsMax || this.#lost > 0;
    if (full) this.#lost += 1;
    else {
      this.#waiting.push(numbered);
      this.#chars += charsOf(numbered.entry);
    }
    this.#wakeUp();
    return !full;
  }

  /** Up to `countMax` entries in order; none when nothing waits. */
  take(countMax: number): Batch {
    const entries = this.#waiting.slice(0, countMax);
    this.#waiting = this.#waiting.slice(countMax);
    if (this.#waiting.length > 0) return { entries, lost: 0 };
    const lost = this.#lost;
    this.#lost = 0;
    this.#chars = 0;
    this.#room = this.#limits.entriesMax;
    return { entries, lost };
  }

  /** Resolves when something waits, or the subscription is closed. One caller at a time. */
  ready(): Promise<void> {
    if (this.#closed || this.#waiting.length > 0 || this.#lost > 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /** Wants nothing more. Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#waiting = [];
    this.#leave(this);
    this.#wakeUp();
  }

  #wakeUp(): void {
    this.#wake?.();
    this.#wake = null;
  }
}
