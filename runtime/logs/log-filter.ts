import type { SpaceName } from "../../base/ids.ts";
import type { LogEntry } from "./log-entry.ts";

export type LogLevel = LogEntry["level"];
export type LogKind = LogEntry["kind"];

export const LOG_LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error"];
export const LOG_KINDS: readonly LogKind[] = ["console", "error", "request"];

/** Which entries somebody wants and may see. Null: any. */
export interface LogFilter {
  readonly spaces: ReadonlySet<SpaceName> | null;
  /** Name or uid. */
  readonly worker: string | null;
  /** Name or uid. */
  readonly version: string | null;
  readonly invocation: string | null;
  /** This level and those above it. */
  readonly levelMin: LogLevel;
  readonly kinds: ReadonlySet<LogKind> | null;
}

export const EVERYTHING: LogFilter = {
  spaces: null,
  worker: null,
  version: null,
  invocation: null,
  levelMin: "debug",
  kinds: null,
};

export function matches(filter: LogFilter, entry: LogEntry): boolean {
  const { spaces, worker, version, invocation, levelMin, kinds } = filter;
  return (
    (spaces === null || spaces.has(entry.space)) &&
    (worker === null || worker === entry.worker || worker === entry.workerUid) &&
    (version === null || version === entry.version || version === entry.versionUid) &&
    (invocation === null || invocation === entry.invocation) &&
    (kinds === null || kinds.has(entry.kind)) &&
    rank(entry.level) >= rank(levelMin)
  );
}

function rank(level: LogLevel): number {
  return LOG_LEVELS.indexOf(level);
}
