import { readFileSync } from "node:fs";

/** The kernel counts CPU time in ticks of 10 ms on every Linux that Bun supports. */
const TICK_MS = 10;
const PAGE_BYTES = 4_096;

/**
 * CPU time, user and system, that a thread of this process has used, in milliseconds; null when the thread is gone.
 * @param thread the kernel's thread id.
 */
export function threadCpuMs(thread: string): number | null {
  const fields = statOf(`self/task/${thread}`);
  return fields === null ? null : cpuMsOf(fields);
}

/**
 * Pages that a thread of this process touched for the first time, or that all of its threads did: the only account of
 * who makes a process grow. Null when the thread is gone.
 */
export function pageFaults(thread?: string): number | null {
  const fields = statOf(thread === undefined ? "self" : `self/task/${thread}`);
  return fields === null ? null : Number(fields[7]);
}

export interface ProcessUse {
  readonly cpuMs: number;
  readonly residentBytes: number;
  readonly pageFaults: number;
}

/** What another process uses; null when it is gone. */
export function processUse(pid: number): ProcessUse | null {
  const fields = statOf(String(pid));
  if (fields === null) return null;
  return {
    cpuMs: cpuMsOf(fields),
    residentBytes: Number(fields[21]) * PAGE_BYTES,
    pageFaults: Number(fields[7]),
  };
}

function cpuMsOf(fields: readonly string[]): number {
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** The fields of a stat file behind the command name. */
function statOf(directory: string): string[] | null {
  try {
    const stat = readFileSync(`/proc/${directory}/stat`, "latin1");
    // The command name may contain anything, so fields count from the closing parenthesis.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return null;
  }
}
