import { clock } from "./clock-check.ts";
import { cores } from "./cores.ts";
import { dataDirectory } from "./data-directory.ts";
import { directIo } from "./direct-io.ts";
import { diskSpace } from "./disk-space.ts";
import { fileSystem } from "./file-system.ts";
import { type Finding, type Verdict, warn } from "./finding.ts";
import { ioLimits } from "./io-limits.ts";
import { killSurvival } from "./kill-survival.ts";
import { landlock } from "./landlock.ts";
import { memory } from "./memory.ts";
import { openFiles } from "./open-files.ts";
import { ports } from "./ports.ts";
import type { Probes } from "./probes.ts";
import { seccomp } from "./seccomp.ts";
import { syncHonesty } from "./sync-honesty.ts";
import { userNamespaces } from "./user-namespaces.ts";

export interface Checked extends Finding {
  readonly check: string;
}

type Check = readonly [name: string, look: (probes: Probes) => Finding | Promise<Finding>];

const CHECKS: readonly Check[] = [
  ["landlock", (probes) => landlock(probes.landlock())],
  ["seccomp", (probes) => seccomp(probes.seccomp())],
  ["user-namespaces", (probes) => userNamespaces(probes.userNamespaces())],
  ["io-limits", (probes) => ioLimits(probes.controlGroup())],
  ["open-files", (probes) => openFiles(probes.limits())],
  ["memory", (probes) => memory(probes.memory())],
  ["cores", (probes) => cores(probes.cores())],
  ["clock", async (probes) => clock(await probes.clock())],
  ["ports", async (probes) => ports(await probes.ports())],
  ["data-directory", (probes) => dataDirectory(probes.dataDirectory())],
  ["file-system", (probes) => fileSystem(probes.fileSystem())],
  ["disk-space", (probes) => diskSpace(probes.fileSystem())],
  ["kill-survival", async (probes) => killSurvival(await probes.killSurvival())],
  ["sync-honesty", async (probes) => syncHonesty(await probes.syncs())],
  ["direct-io", async (probes) => directIo(await probes.direct())],
];

/** Every check in turn: one that measures must not be disturbed by another. Never rejects. */
export async function* diagnose(probes: Probes): AsyncGenerator<Checked, void> {
  for (const [check, look] of CHECKS) yield { check, ...(await finding(() => look(probes))) };
}

/** The worst of them. */
export function verdictOf(findings: readonly Finding[]): Verdict {
  if (findings.some(({ verdict }) => verdict === "fail")) return "fail";
  return findings.some(({ verdict }) => verdict === "warn") ? "warn" : "ok";
}

async function finding(look: () => Finding | Promise<Finding>): Promise<Finding> {
  try {
    return await look();
  } catch (error) {
    const why = error instanceof Error && "code" in error ? String(error.code) : String(error);
    return warn(`this could not be looked at (${why})`, "run the command as the user that the node runs as");
  }
}
