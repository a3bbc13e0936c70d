import { type Finding, ok, warn } from "./finding.ts";

export interface DirectFacts {
  readonly direct: boolean;
  readonly preallocates: boolean;
}

export function directIo({ direct, preallocates }: DirectFacts): Finding {
  if (direct && preallocates) return ok("files can be preallocated and written past the page cache");
  const missing = [preallocates ? "" : "preallocation", direct ? "" : "O_DIRECT"].filter((word) => word !== "");
  return warn(
    `the file system has no ${missing.join(" and no ")}, so synced writes cost more than they need to`,
    "ext4 and xfs have both",
  );
}
