import { type Finding, fail, ok } from "./finding.ts";

export interface KillFacts {
  /** Records that the killed process had acknowledged. */
  readonly acknowledged: number;
  /** Records that were whole afterwards. */
  readonly found: number;
}

export function killSurvival({ acknowledged, found }: KillFacts): Finding {
  if (found >= acknowledged) return ok(`all ${acknowledged} writes acknowledged before a kill -9 were there after it`);
  return fail(
    `${acknowledged - found} of ${acknowledged} acknowledged writes were gone after a kill -9`,
    "do not use this file system for data; put the data directory on a local ext4, xfs, btrfs or zfs",
  );
}
