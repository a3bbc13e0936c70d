// The little statistics that a bench on a busy machine may believe in.
import type { Metric, Sample } from "./row.ts";

/** What one peer did in one row, in the order of the rounds. */
export interface Series {
  readonly peer: string;
  readonly samples: readonly Sample[];
}

export interface Summary {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export function median(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError("the median of nothing");
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

export function summarize(values: readonly number[]): Summary {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

export function valuesOf({ peer, samples }: Series, { name }: Metric): number[] {
  return samples.map((sample) => {
    const value = sample[name];
    if (value === undefined || !Number.isFinite(value)) throw new RangeError(`${peer} has no value of ${name}`);
    return value;
  });
}

/**
 * How many times better `subject` is than `other`: above 1 is in favour of the subject, whichever direction is good.
 * Rounds are compared in pairs, because the two halves of a round saw the same machine; the answer sums the pairs up.
 */
export function advantage(metric: Metric, subject: Series, other: Series): Summary {
  const ours = valuesOf(subject, metric);
  const theirs = valuesOf(other, metric);
  if (ours.length !== theirs.length) throw new RangeError("the peers had different numbers of rounds");
  return summarize(
    ours.map((our, i) => {
      const their = theirs[i] ?? Number.NaN;
      return metric.better === "more" ? our / their : their / our;
    }),
  );
}
