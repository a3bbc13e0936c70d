import { type Finding, ok, warn } from "./finding.ts";

export interface SyncFacts {
  /** Median of a small write with its sync, in microseconds. */
  readonly syncedUs: number;
  /** Median of the same write alone. */
  readonly unsyncedUs: number;
}

/** Not even a flash device with a protected cache answers faster, counting the way through the kernel. */
const PLAUSIBLE_US = 20;
/** A sync that does anything costs more than the copy into the page cache. */
const PLAUSIBLE_RATIO = 2;
const SLOW_US = 20_000;

export function syncHonesty({ syncedUs, unsyncedUs }: SyncFacts): Finding {
  const times = `a synced write takes ${time(syncedUs)}, an unsynced one ${time(unsyncedUs)}`;
  if (syncedUs < PLAUSIBLE_US || syncedUs < unsyncedUs * PLAUSIBLE_RATIO) {
    return warn(
      `${times}: probably not durable, since no disk is that fast`,
      "something acknowledges syncs without doing them: look for tmpfs, eatmydata, a virtual disk with cache=unsafe or a " +
        "controller cache without a battery; until then acknowledged writes may not survive a loss of power",
    );
  }
  if (syncedUs > SLOW_US) {
    return warn(`${times}: every acknowledged change waits that long`, "put the data directory on a solid state disk");
  }
  return ok(`${times}: syncs reach the disk`);
}

function time(us: number): string {
  if (us >= 1_000) return `${(us / 1_000).toFixed(1)} ms`;
  return `${us < 10 ? us.toFixed(1) : Math.round(us)} µs`;
}
