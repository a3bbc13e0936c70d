import type { ResourceUid, SpaceName } from "../../base/ids.ts";
import type { WorkerLogEntry } from "../workers/worker-log.ts";

/** How a request ended for its client. */
export type RequestOutcome =
  | "ok" // the handler answered, whatever the status
  | "exception" // it threw, or returned no Response
  | "cpu_limit"
  | "memory_limit"
  | "unavailable" // it could not be started, or its Version was retired
  | "crashed" // the cell ended by itself
  | "canceled"; // the client went away before there was an answer

/** One request that a Worker answered, told when the head of the answer was there. */
export interface RequestLogEntry {
  readonly kind: "request";
  readonly atMs: number;
  readonly space: SpaceName;
  readonly worker: string;
  readonly workerUid: ResourceUid;
  readonly version: string;
  readonly versionUid: ResourceUid;
  readonly invocation: string | null;
  readonly level: "info" | "error";
  readonly method: string;
  /** Without the query, which may hold what nobody else should see. */
  readonly path: string;
  readonly status: number;
  /** From the arrival of the request's head to the head of the answer, in milliseconds. */
  readonly durationMs: number;
  readonly outcome: RequestOutcome;
}

/** What a person who runs a Worker wants to see as it happens. */
export type LogEntry = WorkerLogEntry | RequestLogEntry;
