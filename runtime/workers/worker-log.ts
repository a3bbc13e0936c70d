import type { ResourceUid, SpaceName } from "../../base/ids.ts";

/** One line that a Worker wrote, or a diagnostic about one of its invocations. */
export interface WorkerLogEntry {
  /** What tenant code printed, or an error that nobody caught (a limit that stopped the code is one, too). */
  readonly kind: "console" | "error";
  readonly atMs: number;
  readonly space: SpaceName;
  readonly worker: string;
  readonly workerUid: ResourceUid;
  readonly version: string;
  readonly versionUid: ResourceUid;
  /** Names the invocation within this run of the node; null outside of one. */
  readonly invocation: string | null;
  readonly level: "debug" | "info" | "warn" | "error";
  readonly message: string;
}

/** Where Worker log lines go. Must not throw and must not wait. */
export interface WorkerLog {
  write(entry: WorkerLogEntry): void;
}
