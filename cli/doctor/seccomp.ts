import { type Finding, ok, warn } from "./finding.ts";

/** `actions`: text of /proc/sys/kernel/seccomp/actions_avail; null without it. */
export function seccomp(actions: string | null): Finding {
  const known = actions?.trim().split(/\s+/) ?? [];
  if (known.includes("kill_process") && known.includes("errno")) return ok("seccomp filters are there");
  return warn(
    "the kernel has no seccomp filters, with which a process gives up system calls",
    "use a kernel with CONFIG_SECCOMP_FILTER; containers may hide it, look at the runtime's profile",
  );
}
