import { type Finding, ok, warn } from "./finding.ts";

/** Texts of the kernel's settings; null where it has no such setting. */
export interface UserNamespaceSettings {
  /** /proc/sys/user/max_user_namespaces */
  readonly max: string | null;
  /** /proc/sys/kernel/unprivileged_userns_clone, of Debian and others. */
  readonly unprivileged: string | null;
  /** /proc/sys/kernel/apparmor_restrict_unprivileged_userns, of Ubuntu. */
  readonly apparmor: string | null;
}

export function userNamespaces({ max, unprivileged, apparmor }: UserNamespaceSettings): Finding {
  const off = (setting: string): Finding =>
    warn(
      `a process without privileges cannot make a user namespace (${setting})`,
      "set it with sysctl if you want that wall as well; Landlock and seccomp work without it",
    );
  if (max === null) return off("the kernel has none");
  if (Number(max) === 0) return off("user.max_user_namespaces is 0");
  if (unprivileged !== null && Number(unprivileged) === 0) return off("kernel.unprivileged_userns_clone is 0");
  if (apparmor !== null && Number(apparmor) !== 0) return off("kernel.apparmor_restrict_unprivileged_userns is 1");
  return ok("a process without privileges can make a user namespace");
}
