import type { Clock } from "../../base/clock.ts";
import type { ResourceUid } from "../../base/ids.ts";
import type { LogBus } from "../../runtime/logs/log-bus.ts";
import type { TestClock } from "../../runtime/time/test-clock.ts";

/** What a running node tells an operator, beside its records. */
export interface Telemetry {
  readonly logs: LogBus;
  /** Names this run of the node in the ids of log events: the numbers of another run mean nothing in this one. */
  readonly run: string;
  /** Real time, for heartbeats. */
  readonly clock: Clock;
  /** The node's time, which log entries are stamped with. */
  readonly nodeClock: Clock;
  /** Numbers in the Prometheus text format. */
  metrics(): string;
  /** Null unless the node was opened for a test. */
  readonly test: TestHooks | null;
}

/** What a test may do to a node. */
export interface TestHooks {
  readonly clock: TestClock;
  /** End every cell of a Worker. Resolves to their number. */
  readonly evict: (workerUid: ResourceUid) => Promise<number>;
}
