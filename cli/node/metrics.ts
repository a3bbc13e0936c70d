// The numbers of a node, taken when somebody asks for them.
import type { LogBus } from "../../runtime/logs/log-bus.ts";
import { exposition, type Sample } from "../../runtime/metrics/exposition.ts";
import { DURATION_BUCKETS_MS, type RequestMetrics } from "../../runtime/metrics/request-metrics.ts";
import type { Workers } from "../../runtime/workers/workers.ts";
import type { ArtifactStore } from "../../storage/artifacts/artifact-store.ts";
import type { ControlStore } from "../../storage/control/control-store.ts";

export interface MetricSources {
  readonly requests: RequestMetrics;
  readonly logs: LogBus;
  readonly workers: Workers;
  readonly artifacts: ArtifactStore;
  readonly store: ControlStore;
}

/** The page of `GET /operator/v1/metrics`. */
export function metricsPage({ requests, logs, workers, artifacts, store }: MetricSources): string {
  const durations = requests.durations();
  const gauge = (name: string, help: string, samples: readonly Sample[]) =>
    ({ name, help, type: "gauge", samples }) as const;
  const counter = (name: string, help: string, samples: readonly Sample[]) =>
    ({ name, help, type: "counter", samples }) as const;
  const by = (label: string, counts: Readonly<Record<string, number>>): readonly Sample[] =>
    Object.entries(counts).map(([key, count]) => [{ [label]: key }, count]);
  return exposition([
    counter("atoll_requests_total", "Requests that reached a Worker, by status class.", requestSamples(requests)),
    {
      name: "atoll_request_duration_seconds",
      help: "From the head of a request to the head of its answer.",
      type: "histogram",
      bounds: DURATION_BUCKETS_MS.map((ms) => ms / 1_000),
      counts: durations.counts,
      sum: durations.sumMs / 1_000,
    },
    gauge("atoll_invocations_running", "Invocations that have not ended.", [[{}, workers.running]]),
    gauge("atoll_cells", "Cells by phase.", by("phase", workers.cellPhases())),
    gauge("atoll_resources", "Resources.", [[{}, store.resources.count()]]),
    gauge("atoll_operations", "Operations that are kept, by status.", by("status", store.operations.countByStatus())),
    gauge("atoll_artifact_bytes", "Bytes in the artifact store.", [[{}, artifacts.heldBytes]]),
    counter("atoll_log_entries_total", "Console lines, uncaught errors and requests told.", [[{}, logs.published]]),
    counter("atoll_log_entries_dropped_total", "Log entries that a listener was too slow for.", [[{}, logs.lost]]),
    gauge("atoll_log_listeners", "Open log streams.", [[{}, logs.listeners]]),
    gauge("process_resident_memory_bytes", "Resident memory of the node's process.", [[{}, process.memoryUsage.rss()]]),
  ]);
}

function requestSamples(requests: RequestMetrics): readonly Sample[] {
  return requests.byWorker().flatMap(({ worker, byClass }) => {
    const named = worker === null ? { space: "", worker: "" } : { space: worker.space, worker: worker.name };
    return byClass.flatMap((count, i): Sample[] => (count === 0 ? [] : [[{ ...named, status: `${i + 1}xx` }, count]]));
  });
}
