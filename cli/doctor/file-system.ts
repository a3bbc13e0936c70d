import { type Finding, fail, ok, warn } from "./finding.ts";

export interface FileSystemFacts {
  readonly kind: string;
  readonly options: readonly string[];
}

const GOOD = new Set(["ext4", "xfs", "btrfs", "zfs", "f2fs", "bcachefs"]);
const VOLATILE = new Set(["tmpfs", "ramfs"]);
const REMOTE = new Set(["nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "glusterfs", "afs"]);
/** A disk may lose or reorder what it acknowledged when nobody asks it to flush. */
const UNSAFE_OPTIONS = ["nobarrier", "barrier=0", "norecovery", "noload"];

export function fileSystem({ kind, options }: FileSystemFacts): Finding {
  const local = "put the data directory on a local ext4, xfs, btrfs or zfs";
  // Options of the mount come first, so a file system that is writable itself may still be mounted read-only.
  if (options.includes("ro")) return fail(`the data directory is on a read-only ${kind} mount`, "mount it read-write");
  const unsafe = options.find((option) => UNSAFE_OPTIONS.includes(option));
  if (unsafe !== undefined) {
    return warn(
      `${kind} is mounted with ${unsafe}, so a loss of power loses acknowledged writes`,
      "mount it without that option",
    );
  }
  if (VOLATILE.has(kind)) return warn(`the data directory is on ${kind}, whose content is gone after a reboot`, local);
  if (REMOTE.has(kind)) {
    return warn(`the data directory is on ${kind}, where locks and syncs depend on another machine`, local);
  }
  if (kind === "overlay") {
    return warn(
      "the data directory is in a container's own layer, which goes away with the container",
      "mount a volume for it",
    );
  }
  if (!GOOD.has(kind)) return warn(`the data directory is on ${kind}, which Atoll is not tested on`, local);
  return ok(`the data directory is on ${kind}`);
}
