import { readFileSync } from "node:fs";

/** The kernel counts CPU time of threads in ticks of 10 ms on every Linux that Bun supports. */
const TICK_MS = 10;

/**
 * CPU time, user and system, that a thread of this process has used, in milliseconds; null when the thread is gone.
 * @param thread the kernel's thread id.
 */
export function threadCpuMs(thread: string): number | null {
  try {
    const stat = readFileSync(`/proc/self/task/${thread}/stat`, "latin1");
    // The command name may contain anything, so fields count from the closing parenthesis.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  } catch {
    return null;
  }
}
