import { type Finding, ok, warn } from "./finding.ts";

export interface CoreFacts {
  readonly cores: number;
  /** Text of the control group's cpu.max: quota and period in microseconds; null without one. */
  readonly cpuMax: string | null;
}

export function cores({ cores: count, cpuMax }: CoreFacts): Finding {
  const [quota = "max", period = "100000"] = cpuMax?.trim().split(/\s+/) ?? [];
  const usable = quota === "max" ? count : Math.min(count, Number(quota) / Number(period));
  const says = `${Math.round(usable * 10) / 10} cores can be used`;
  if (usable >= 2) return ok(says);
  return warn(says, "give the node two cores or more, so that a busy Worker does not slow down everybody else");
}
