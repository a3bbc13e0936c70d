// What a node tells about the Workers that it runs: to its own log, to live listeners, and in numbers.
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import type { RequestWatch } from "../../runtime/ingress/ingress.ts";
import { LogBus } from "../../runtime/logs/log-bus.ts";
import type { LogEntry } from "../../runtime/logs/log-entry.ts";
import { RequestMetrics } from "../../runtime/metrics/request-metrics.ts";
import type { WorkerLog } from "../../runtime/workers/worker-log.ts";

export interface Observation {
  readonly bus: LogBus;
  readonly requests: RequestMetrics;
  readonly workerLog: WorkerLog;
  readonly watch: RequestWatch;
}

/** @param onLog is called with every entry, in order; it must not throw and must not wait. */
export function observe(parts: {
  readonly clock: Clock;
  readonly log: Logger;
  readonly onLog?: ((entry: LogEntry) => void) | undefined;
}): Observation {
  const { clock, log, onLog } = parts;
  const bus = new LogBus();
  const requests = new RequestMetrics();
  return {
    bus,
    requests,
    workerLog: {
      write: (entry) => {
        const { kind, space, worker, version, invocation } = entry;
        log[entry.level](entry.message, { from: "worker", kind, space, worker, version, invocation });
        bus.publish(entry);
        onLog?.(entry);
      },
    },
    watch: {
      answered: ({ version, cell, id }, workerUid, method, path, status, durationMs, outcome) => {
        requests.count(workerUid, version, status, durationMs);
        if (version === null) return;
        const entry: LogEntry = {
          kind: "request",
          atMs: clock.nowMs(),
          space: version.space,
          worker: version.workerName,
          workerUid,
          version: version.versionName,
          versionUid: version.versionUid,
          invocation: id === 0 ? null : `${cell}-${id}`,
          level: status >= 500 ? "error" : "info",
          method,
          path,
          status,
          durationMs,
          outcome,
        };
        bus.publish(entry);
        onLog?.(entry);
      },
    },
  };
}
