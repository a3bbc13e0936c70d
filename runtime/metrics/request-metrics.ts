// Counts of requests. Plain additions on the hot path; everything that has a text form is made when somebody asks.
import type { ResourceUid, SpaceName } from "../../base/ids.ts";

/** Upper bounds in milliseconds of the buckets of the duration histogram; the last one is open. */
export const DURATION_BUCKETS_MS: readonly number[] = [
  1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000,
];

/** Workers with a row of their own; what comes beyond them is counted together, so that the page stays bounded. */
const WORKERS_MAX = 500;

export interface WorkerCounts {
  /** Null for the row of all other Workers, and for requests that found no Version. */
  readonly worker: { readonly space: SpaceName; readonly name: string } | null;
  /** By status class: index 0 is 1xx, 4 is 5xx. */
  readonly byClass: readonly number[];
}

export interface DurationHistogram {
  /** One more than there are bounds. Not cumulative. */
  readonly counts: readonly number[];
  readonly sumMs: number;
}

interface Row {
  readonly worker: WorkerCounts["worker"];
  readonly byClass: number[];
}

export class RequestMetrics {
  readonly #rows = new Map<ResourceUid, Row>();
  readonly #others: Row = { worker: null, byClass: [0, 0, 0, 0, 0] };
  readonly #durations: number[] = Array.from({ length: DURATION_BUCKETS_MS.length + 1 }, () => 0);
  #sumMs = 0;

  /** `worker` is null when the request reached no Version. */
  count(
    workerUid: ResourceUid,
    worker: { readonly space: SpaceName; readonly workerName: string } | null,
    status: number,
    durationMs: number,
  ): void {
    const row = this.#rows.get(workerUid) ?? this.#open(workerUid, worker);
    const statusClass = Math.min(Math.max(Math.floor(status / 100), 1), 5) - 1;
    row.byClass[statusClass] = (row.byClass[statusClass] ?? 0) + 1;
    let bucket = 0;
    while (durationMs > (DURATION_BUCKETS_MS[bucket] ?? Number.POSITIVE_INFINITY)) bucket += 1;
    this.#durations[bucket] = (this.#durations[bucket] ?? 0) + 1;
    this.#sumMs += durationMs;
  }

  byWorker(): readonly WorkerCounts[] {
    return [...this.#rows.values(), this.#others];
  }

  durations(): DurationHistogram {
    return { counts: this.#durations, sumMs: this.#sumMs };
  }

  #open(workerUid: ResourceUid, worker: { readonly space: SpaceName; readonly workerName: string } | null): Row {
    if (worker === null || this.#rows.size >= WORKERS_MAX) return this.#others;
    const row = { worker: { space: worker.space, name: worker.workerName }, byClass: [0, 0, 0, 0, 0] };
    this.#rows.set(workerUid, row);
    return row;
  }
}
