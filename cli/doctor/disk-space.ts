import { type Finding, fail, ok, size, warn } from "./finding.ts";

export interface SpaceFacts {
  readonly freeBytes: number;
  readonly totalBytes: number;
  /** Null where there is no fixed number. */
  readonly freeFiles: number | null;
}

const NEEDED_BYTES = 256 * 2 ** 20;
const COMFORTABLE_BYTES = 2 ** 31;
const COMFORTABLE_FILES = 10_000;

export function diskSpace({ freeBytes, totalBytes, freeFiles }: SpaceFacts): Finding {
  const says = `${size(freeBytes)} of ${size(totalBytes)} are free where the data directory is`;
  const advice = "free some, or move the data directory to a larger disk; a node without space refuses every write";
  if (freeBytes < NEEDED_BYTES) return fail(says, advice);
  if (freeBytes < COMFORTABLE_BYTES) return warn(says, advice);
  if (freeFiles !== null && freeFiles < COMFORTABLE_FILES) {
    return warn(`${says}, but only ${freeFiles} more files can be made`, "make the file system with more inodes");
  }
  return ok(says);
}
