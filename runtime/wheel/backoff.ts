import type { Random } from "../../base/random.ts";

const BACKOFF_MS_FIRST = 1_000;
/** No retry waits longer. */
export const BACKOFF_MS_MAX = 300_000;
const JITTER_STEPS = 1_024;

/**
 * Milliseconds to wait after the `attempts`-th failure (1 for the first): doubling from one second to five minutes,
 * of which up to half is taken off at random so that things that failed together do not come back together.
 */
export function backoffMs(attempts: number, random: Random): number {
  const full = Math.min(BACKOFF_MS_FIRST * 2 ** Math.min(attempts - 1, 30), BACKOFF_MS_MAX);
  return Math.round(full * (1 - random.below(JITTER_STEPS) / JITTER_STEPS / 2));
}
