import { type Finding, fail, ok, warn } from "./finding.ts";

const WANTED = 65_536;
const NEEDED = 1_024;

/** `limits`: text of /proc/self/limits. */
export function openFiles(limits: string): Finding {
  const soft = /^Max open files\s+(\S+)/m.exec(limits)?.[1] ?? "unlimited";
  const count = soft === "unlimited" ? Number.POSITIVE_INFINITY : Number(soft);
  const advice = `set LimitNOFILE=${WANTED} in the service, or ulimit -n ${WANTED} in the shell that starts it`;
  if (count < NEEDED)
    return fail(`a process may open only ${soft} files; each connection and each store takes some`, advice);
  if (count < WANTED) return warn(`a process may open ${soft} files, which bounds connections and open stores`, advice);
  return ok(`a process may open ${soft} files`);
}
