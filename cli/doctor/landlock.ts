import { type Finding, ok, warn } from "./finding.ts";

/** The first version that keeps a process off TCP, too. */
const NETWORK_ABI = 4;

/** `abi`: version of the kernel's Landlock interface; null without one. */
export function landlock(abi: number | null): Finding {
  if (abi === null) {
    return warn(
      "the kernel has no Landlock, with which a process shuts itself off from files",
      "use Linux 5.13 or newer with landlock in its lsm= list; the realm and the thread stay as walls without it",
    );
  }
  if (abi < NETWORK_ABI) {
    return warn(
      `Landlock is there (ABI ${abi}), but covers files only`,
      `Linux 6.7 or newer (ABI ${NETWORK_ABI}) covers network connections as well`,
    );
  }
  return ok(`Landlock is there (ABI ${abi}) and covers files and network`);
}
