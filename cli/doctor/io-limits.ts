import { type Finding, ok, warn } from "./finding.ts";

export interface ControlGroup {
  /** Text of cgroup.controllers; null without the unified hierarchy. */
  readonly controllers: string | null;
  /** Text of io.max; null or empty without a limit. */
  readonly ioMax: string | null;
}

export function ioLimits({ controllers, ioMax }: ControlGroup): Finding {
  if (controllers === null) {
    return warn(
      "there is no unified control group hierarchy, so this node's disk use cannot be limited",
      "boot with systemd.unified_cgroup_hierarchy=1, or use a distribution from 2021 or later",
    );
  }
  if (ioMax !== null && ioMax.trim() !== "") return ok(`the control group limits disk use: ${ioMax.trim()}`);
  if (controllers.trim().split(/\s+/).includes("io"))
    return ok("disk use can be limited by the control group, and is not");
  return warn(
    "the control group has no io controller, so this node's disk use cannot be limited",
    "run the node as a service of its own with IOAccounting=yes, as the unit in packaging/ does",
  );
}
