// The log bus: what Workers say, for those who listen now and for those who ask a little later.
//
//   L1. Publishing never waits and never fails; its cost does not depend on how fast anybody reads.
//   L2. Everything is bounded: what is kept of a Worker, the number of Workers, and what waits for a listener.
//   L3. A noisy Worker displaces its own entries only, and requests never displace lines.
//   L4. Whatever a listener misses, it is told so: a count of what came while it was too slow, a gap for what was kept
//       no longer. Both speak only of entries that its filter lets through (HA-50).
import type { ResourceUid, SpaceName } from "../../base/ids.ts";
import type { LogEntry } from "./log-entry.ts";
import { type LogFilter, matches } from "./log-filter.ts";
import { LogRing, type Numbered, type RingLimits } from "./log-ring.ts";
import { LogSubscription, type SubscriptionLimits } from "./log-subscription.ts";

export interface LogBusLimits {
  /** Console lines and errors kept of each Worker. */
  readonly lines: RingLimits;
  /** Requests kept of each Worker. */
  readonly requests: RingLimits;
  /** Workers of which anything is kept; the one that was silent for longest gives way. */
  readonly workersMax: number;
  readonly subscription: SubscriptionLimits;
}

/** At most some 40 million characters in all, reached only by as many Workers that all write much. */
export const DEFAULT_LOG_LIMITS: LogBusLimits = {
  lines: { entriesMax: 512, charsMax: 128 * 1024 },
  requests: { entriesMax: 256, charsMax: 32 * 1024 },
  workersMax: 256,
  subscription: { entriesMax: 1_000, charsMax: 1024 * 1024 },
};

/** Where a listener begins; what is kept no longer is not there. */
export type LogStart =
  | { readonly from: "now" }
  | { readonly from: "tail"; readonly count: number }
  /** Everything behind this number. */
  | { readonly from: "after"; readonly seq: number }
  /** Everything that is kept from this wall time on, the newest `count` of it at most. */
  | { readonly from: "since"; readonly atMs: number; readonly count: number };

interface Kept {
  readonly space: SpaceName;
  readonly lines: LogRing;
  readonly requests: LogRing;
}

export class LogBus {
  readonly #limits: LogBusLimits;
  readonly #kept = new Map<ResourceUid, Kept>();
  /** The highest number lost with a Worker that gave way, by Space. */
  readonly #forgotten = new Map<SpaceName, number>();
  readonly #subscriptions = new Set<LogSubscription>();
  #seq = 0;
  #lost = 0;

  constructor(limits: LogBusLimits = DEFAULT_LOG_LIMITS) {
    this.#limits = limits;
  }

  /** Entries that listeners were too slow for, since the start. */
  get lost(): number {
    return this.#lost;
  }

  /** Entries told, since the start. */
  get published(): number {
    return this.#seq;
  }

  get listeners(): number {
    return this.#subscriptions.size;
  }

  /** Tell everybody who wants to know (L1). */
  publish(entry: LogEntry): void {
    const numbered: Numbered = { seq: ++this.#seq, entry };
    const kept = this.#kept.get(entry.workerUid) ?? this.#open(entry);
    (entry.kind === "request" ? kept.requests : kept.lines).push(numbered);
    if (this.#subscriptions.size === 0) return;
    for (const subscription of this.#subscriptions) {
      if (matches(subscription.filter, entry) && !subscription.offer(numbered)) this.#lost += 1;
    }
  }

  /** From here on nothing that matches is missed unless the subscription says so (L4). Close it when done. */
  subscribe(filter: LogFilter, start: LogStart): LogSubscription {
    const history = this.#history(filter, start);
    const subscription = new LogSubscription({
      filter,
      history,
      startSeq: (history[0]?.seq ?? this.#seq + 1) - 1,
      gap: start.from === "after" && this.#evictedSeq(filter) > start.seq,
      limits: this.#limits.subscription,
      leave: (gone) => this.#subscriptions.delete(gone),
    });
    this.#subscriptions.add(subscription);
    return subscription;
  }

  /** End every subscription, so that their streams end too. */
  close(): void {
    for (const subscription of this.#subscriptions) subscription.close();
  }

  #history(filter: LogFilter, start: LogStart): readonly Numbered[] {
    if (start.from === "now") return [];
    const found: Numbered[] = [];
    for (const { lines, requests } of this.#kept.values()) {
      for (const ring of [lines, requests]) {
        for (const numbered of ring) {
          if (isWithin(start, numbered) && matches(filter, numbered.entry)) found.push(numbered);
        }
      }
    }
    found.sort((a, b) => a.seq - b.seq);
    return start.from === "after" ? found : found.slice(Math.max(0, found.length - start.count));
  }

  /** The highest number that went and that the filter may have let through, as far as that is known. */
  #evictedSeq({ spaces, kinds }: LogFilter): number {
    let highest = 0;
    for (const { space, lines, requests } of this.#kept.values()) {
      if (spaces !== null && !spaces.has(space)) continue;
      if (kinds === null || kinds.has("request")) highest = Math.max(highest, requests.evictedSeq);
      if (kinds === null || kinds.has("console") || kinds.has("error")) highest = Math.max(highest, lines.evictedSeq);
    }
    for (const [space, seq] of this.#forgotten) {
      if (spaces === null || spaces.has(space)) highest = Math.max(highest, seq);
    }
    return highest;
  }

  #open({ workerUid, space }: LogEntry): Kept {
    if (this.#kept.size >= this.#limits.workersMax) this.#forgetOne();
    const kept = { space, lines: new LogRing(this.#limits.lines), requests: new LogRing(this.#limits.requests) };
    this.#kept.set(workerUid, kept);
    return kept;
  }

  #forgetOne(): void {
    let silent: { readonly uid: ResourceUid; readonly space: SpaceName; readonly seq: number } | null = null;
    for (const [uid, { space, lines, requests }] of this.#kept) {
      const seq = Math.max(lines.newestSeq, requests.newestSeq);
      if (silent === null || seq < silent.seq) silent = { uid, space, seq };
    }
    if (silent === null) return;
    this.#kept.delete(silent.uid);
    this.#forgotten.set(silent.space, Math.max(this.#forgotten.get(silent.space) ?? 0, silent.seq));
  }
}

function isWithin(start: LogStart, { seq, entry }: Numbered): boolean {
  if (start.from === "after") return seq > start.seq;
  return start.from === "since" ? entry.atMs >= start.atMs : start.from === "tail";
}
