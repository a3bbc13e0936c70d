import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../../base/clock.ts";

export interface SyncTimes {
  /** Median of one small write followed by fdatasync, in microseconds. */
  readonly syncedUs: number;
  /** Median of the same write alone, in microseconds. */
  readonly unsyncedUs: number;
}

const ROUNDS = 64;
/** Slow disks are slow enough to be seen in fewer rounds. */
const SPENT_MS_MAX = 2_000;
const BLOCK_BYTES = 4_096;

/**
 * How long small appends take in `directory`, with and without a sync each. Blocks the thread, because the way through
 * a pool of threads costs more than the syncs that it looks for. Leaves nothing behind; throws the platform's error.
 */
export function measureSyncs(directory: string, clock: Clock): SyncTimes {
  const path = join(directory, "sync-probe");
  const file = openSync(path, "wx", 0o600);
  try {
    const block = Buffer.alloc(BLOCK_BYTES, "atoll");
    const unsyncedUs = medianUs(clock, () => writeSync(file, block));
    fdatasyncSync(file);
    const syncedUs = medianUs(clock, () => {
      writeSync(file, block);
      fdatasyncSync(file);
    });
    return { syncedUs, unsyncedUs };
  } finally {
    closeSync(file);
    rmSync(path, { force: true });
  }
}

function medianUs(clock: Clock, step: () => void): number {
  const spent: number[] = [];
  const startedMs = clock.monotonicMs();
  while (spent.length < ROUNDS && clock.monotonicMs() - startedMs < SPENT_MS_MAX) {
    const beforeMs = clock.monotonicMs();
    step();
    spent.push((clock.monotonicMs() - beforeMs) * 1_000);
  }
  spent.sort((a, b) => a - b);
  return spent[spent.length >> 1] ?? 0;
}
