import { readFileSync } from "node:fs";

/** The kernel counts CPU time of threads in ticks of 10 ms on every Linux that Bun supports. */
const TICK_MS = 10;

/**
 * CPU time, user and system, that a thread of this process has used, in milliseconds; null when the thread is gone.
 * @param thread the kernel's thread id.
 */
export function threadCpuMs(thread: string): number | null {
  const fields = statOf(`task/${thread}/`);
  return fields === null ? null : (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/**
 * Pages that a thread of this process touched for the first time, or that all of its threads did: the only account of
 * who makes a process grow. Null when the thread is gone.
 */
export function pageFaults(thread?: string): number | null {
  const fields = statOf(thread === undefined ? "" : `task/${thread}/`);
  return fields === null ? null : Number(fields[7]);
}

/** The fields of a stat file behind the command name. */
function statOf(directory: string): string[] | null {
  try {
    const stat = readFileSync(`/proc/self/${directory}stat`, "latin1");
    // The command name may contain anything, so fields count from the closing parenthesis.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return null;
  }
}
