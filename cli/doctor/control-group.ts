import { join } from "node:path";
import { readText } from "./read-text.ts";

const ROOT = "/sys/fs/cgroup";

/** Text of a file of this process's control group in the unified hierarchy; null when there is none. */
export function controlGroupFile(name: string): string | null {
  const path = /^0::(\/.*)$/m.exec(readText("/proc/self/cgroup") ?? "")?.[1];
  return path === undefined ? null : readText(join(ROOT, path, name));
}
