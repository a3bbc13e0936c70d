// What the checks look at: the real machine here, a made-up one in tests.
import { availableParallelism } from "node:os";
import type { Clock } from "../../base/clock.ts";
import type { DirectSupport } from "../../storage/disk/probes/direct-probe.ts";
import { probeDirect } from "../../storage/disk/probes/direct-probe.ts";
import { type FileSystem, fileSystemOf } from "../../storage/disk/probes/file-system.ts";
import { measureSyncs } from "../../storage/disk/probes/sync-probe.ts";
import type { Config } from "../config.ts";
import type { ClockFacts } from "./clock-check.ts";
import { controlGroupFile } from "./control-group.ts";
import type { CoreFacts } from "./cores.ts";
import { type DataPlace, dataDirectoryFacts, inScratch, ownPorts } from "./data-place.ts";
import type { DataDirectoryFacts } from "./data-directory.ts";
import type { ControlGroup } from "./io-limits.ts";
import { clockSynchronized, landlockAbi } from "./kernel-calls.ts";
import { killAWriter } from "./kill-a-writer.ts";
import type { KillFacts } from "./kill-survival.ts";
import { listenOutcome } from "./listen-outcome.ts";
import type { MemoryFacts } from "./memory.ts";
import type { PortFacts } from "./ports.ts";
import { readText } from "./read-text.ts";
import type { SyncFacts } from "./sync-honesty.ts";
import type { UserNamespaceSettings } from "./user-namespaces.ts";

/** Each may throw or reject: then nothing is known, and the check says so. */
export interface Probes {
  landlock(): number | null;
  seccomp(): string | null;
  userNamespaces(): UserNamespaceSettings;
  controlGroup(): ControlGroup;
  limits(): string;
  memory(): MemoryFacts;
  cores(): CoreFacts;
  clock(): Promise<ClockFacts>;
  ports(): Promise<PortFacts>;
  dataDirectory(): DataDirectoryFacts;
  fileSystem(): FileSystem;
  killSurvival(): Promise<KillFacts>;
  syncs(): Promise<SyncFacts>;
  direct(): Promise<DirectSupport>;
}

/** How long the two clocks are compared. */
const WATCH_MS = 100;

export function systemProbes(config: Config, place: DataPlace, clock: Clock): Probes {
  return {
    landlock: landlockAbi,
    seccomp: () => readText("/proc/sys/kernel/seccomp/actions_avail"),
    userNamespaces: () => ({
      max: readText("/proc/sys/user/max_user_namespaces"),
      unprivileged: readText("/proc/sys/kernel/unprivileged_userns_clone"),
      apparmor: readText("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
    }),
    controlGroup: () => ({ controllers: controlGroupFile("cgroup.controllers"), ioMax: controlGroupFile("io.max") }),
    limits: () => readText("/proc/self/limits") ?? "",
    memory: () => ({
      meminfo: readText("/proc/meminfo") ?? "",
      groupMax: controlGroupFile("memory.max"),
      groupCurrent: controlGroupFile("memory.current"),
    }),
    cores: () => ({ cores: availableParallelism(), cpuMax: controlGroupFile("cpu.max") }),
    clock: () => watchClock(clock),
    ports: async () => ({
      listeners: await Promise.all(
        [config.listen, config.tlsListen].map(async ({ hostname, port }) => ({
          address: `${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`,
          port,
          outcome: await listenOutcome(hostname, port),
        })),
      ),
      own: ownPorts(config.data),
    }),
    dataDirectory: () => dataDirectoryFacts(config.data),
    fileSystem: () => fileSystemOf(place.existing),
    killSurvival: () => inScratch(place, (directory) => killAWriter(directory, clock)),
    syncs: () => inScratch(place, (directory) => measureSyncs(directory, clock)),
    direct: () => inScratch(place, (directory) => probeDirect(directory)),
  };
}

async function watchClock(clock: Clock): Promise<ClockFacts> {
  const [wallMs, monotonicMs] = [clock.nowMs(), clock.monotonicMs()];
  await new Promise<void>((resolve) => clock.after(WATCH_MS, resolve));
  const nowMs = clock.nowMs();
  return { nowMs, jumpedMs: nowMs - wallMs - (clock.monotonicMs() - monotonicMs), synchronized: clockSynchronized() };
}
