import { type Finding, fail, ok, warn } from "./finding.ts";

export interface ClockFacts {
  readonly nowMs: number;
  /** How much further the wall clock went than the monotonic one while both were watched, in milliseconds. */
  readonly jumpedMs: number;
  /** Whether the kernel's clock is disciplined by a time service; null when it does not say. */
  readonly synchronized: boolean | null;
}

/** Certificates and tokens of an earlier time than this cannot be. */
const EARLIEST_MS = Date.UTC(2025, 0, 1);
const JUMP_MS_MAX = 20;

export function clock({ nowMs, jumpedMs, synchronized }: ClockFacts): Finding {
  const service = "run a time service such as chrony or systemd-timesyncd";
  if (nowMs < EARLIEST_MS) {
    return fail(
      `the wall clock says ${new Date(nowMs).toISOString()}, which is long past`,
      `set the clock, and ${service}`,
    );
  }
  if (Math.abs(jumpedMs) > JUMP_MS_MAX) {
    return warn(
      `the wall clock jumped by ${Math.round(jumpedMs)} ms while it was watched`,
      `${service} that slews the clock instead of setting it; alarms go by the wall clock`,
    );
  }
  if (synchronized === false) {
    return warn(
      "no time service keeps the wall clock right",
      `${service}; alarms and certificates go by the wall clock`,
    );
  }
  return ok(`the wall clock runs evenly${synchronized === true ? " and is kept right by a time service" : ""}`);
}
