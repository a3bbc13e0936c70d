import { readFileSync, statfsSync, statSync } from "node:fs";

export interface FileSystem {
  /** As the kernel calls it, such as `ext4`; `unknown` when the mount cannot be found. */
  readonly kind: string;
  /** Options of the mount and of the file system below it. */
  readonly options: readonly string[];
  /** What a process without privileges can still write. */
  readonly freeBytes: number;
  readonly totalBytes: number;
  /** Null where the file system has no fixed number of files. */
  readonly freeFiles: number | null;
}

/** The file system of an existing directory. Throws the platform's error. */
export function fileSystemOf(directory: string): FileSystem {
  const { bsize, blocks, bavail, files, ffree } = statfsSync(directory);
  const mounts = readFileSync("/proc/self/mountinfo", "utf8");
  return {
    ...(mountOf(mounts, statSync(directory).dev, directory) ?? { kind: "unknown", options: [] }),
    freeBytes: bsize * bavail,
    totalBytes: bsize * blocks,
    freeFiles: files === 0 ? null : ffree,
  };
}

/** The mount of a device in the text of /proc/self/mountinfo; of several, the one nearest above `directory`. */
export function mountOf(
  mountinfo: string,
  device: number,
  directory: string,
): Pick<FileSystem, "kind" | "options"> | null {
  const rows = mountinfo.split("\n").flatMap((line) => {
    const [left = "", right = ""] = line.split(" - ");
    const [, , numbers = "", , point = "", options = ""] = left.split(" ");
    const [kind = "", , more = ""] = right.split(" ");
    return kind === "" ? [] : [{ numbers, point: plain(point), kind, options: `${options},${more}`.split(",") }];
  });
  const above = rows.filter(({ point }) => `${directory}/`.startsWith(point === "/" ? "/" : `${point}/`));
  // A btrfs subvolume has a device of its own that no mount shows.
  const own = above.filter(({ numbers }) => numbers === deviceNumbers(device));
  const nearest = (own.length > 0 ? own : above).reduce<(typeof rows)[number] | null>(
    (best, row) => (best === null || row.point.length >= best.point.length ? row : best),
    null,
  );
  return nearest === null ? null : { kind: nearest.kind, options: nearest.options };
}

/** `major:minor` of a Linux device number. */
function deviceNumbers(device: number): string {
  const number = BigInt(device);
  const major = ((number >> 8n) & 0xfffn) | ((number >> 32n) & ~0xfffn);
  const minor = (number & 0xffn) | ((number >> 12n) & ~0xffn);
  return `${major}:${minor}`;
}

/** The kernel writes blanks and backslashes of a path as octal. */
function plain(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
