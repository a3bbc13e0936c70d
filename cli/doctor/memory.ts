import { type Finding, fail, ok, size, warn } from "./finding.ts";

const COMFORTABLE_BYTES = 512 * 2 ** 20;
const NEEDED_BYTES = 128 * 2 ** 20;

export interface MemoryFacts {
  /** Text of /proc/meminfo. */
  readonly meminfo: string;
  /** Text of the control group's memory.max; null without one. */
  readonly groupMax: string | null;
  /** Text of the control group's memory.current. */
  readonly groupCurrent: string | null;
}

export function memory({ meminfo, groupMax, groupCurrent }: MemoryFacts): Finding {
  const available = Number(/^MemAvailable:\s+(\d+) kB/m.exec(meminfo)?.[1] ?? 0) * 1_024;
  const limit = groupMax === null || groupMax.trim() === "max" ? null : Number(groupMax);
  const free = limit === null ? available : Math.min(available, Math.max(0, limit - Number(groupCurrent ?? 0)));
  const where = limit !== null && free < available ? ` within the control group's ${size(limit)}` : "";
  const says = `${size(free)} of memory are available${where}`;
  const advice =
    "give the machine or the service more memory, or lower limits.memoryMb so that fewer cells live at once";
  if (free < NEEDED_BYTES) return fail(says, advice);
  if (free < COMFORTABLE_BYTES) return warn(says, advice);
  return ok(says);
}
