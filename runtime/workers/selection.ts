import type { ResourceUid } from "../../base/ids.ts";
import { WEIGHT_TOTAL } from "../../base/limits.ts";
import type { Random } from "../../base/random.ts";
import type { Distribution } from "./worker-runtime.ts";

/**
 * The Version for one new event: an independent uniform draw over the cumulative weights (WD-14, WD-A10). The caller
 * holds on to the answer until the event has ended; a Version that turns out unusable is never replaced (WD-16).
 */
export function pickVersion(distribution: Distribution, random: Random): ResourceUid | null {
  const { entries } = distribution;
  if (entries.length === 1) return entries[0]?.versionUid ?? null;
  let draw = random.below(WEIGHT_TOTAL);
  for (const { versionUid, weight } of entries) {
    if (draw < weight) return versionUid;
    draw -= weight;
  }
  return null;
}
