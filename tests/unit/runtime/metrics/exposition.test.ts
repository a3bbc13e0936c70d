import { describe, expect, test } from "bun:test";
import type { ResourceUid, SpaceName } from "../../../../base/ids.ts";
import { exposition } from "../../../../runtime/metrics/exposition.ts";
import { DURATION_BUCKETS_MS, RequestMetrics } from "../../../../runtime/metrics/request-metrics.ts";

const worker = (name: string) => ({ space: "s" as SpaceName, workerName: name });
const uid = (name: string): ResourceUid => `uid-${name}` as ResourceUid;

describe("the text format", () => {
  test("labels are escaped, histograms are cumulative, empty metrics have no line", () => {
    const page = exposition([
      {
        name: "a_total",
        help: "One\nline.",
        type: "counter",
        samples: [
          [{ x: 'q"\\\n' }, 3],
          [{}, 1],
        ],
      },
      { name: "b", help: "None.", type: "gauge", samples: [] },
      { name: "c", help: "Some.", type: "histogram", bounds: [0.1, 1], counts: [2, 0, 1], sum: 4.5 },
    ]);
    expect(page).toBe(
      [
        "# HELP a_total One\\nline.",
        "# TYPE a_total counter",
        'a_total{x="q\\"\\\\\\n"} 3',
        "a_total 1",
        "# HELP b None.",
        "# TYPE b gauge",
        "# HELP c Some.",
        "# TYPE c histogram",
        'c_bucket{le="0.1"} 2',
        'c_bucket{le="1"} 2',
        'c_bucket{le="+Inf"} 3',
        "c_sum 4.5",
        "c_count 3",
        "",
      ].join("\n"),
    );
  });
});

describe("RequestMetrics", () => {
  test("counts by Worker and status class, and sorts durations into buckets whose bounds they do not exceed", () => {
    const metrics = new RequestMetrics();
    for (const [status, ms] of [
      [200, 1],
      [204, 1.5],
      [404, 20_000],
      [599, 0],
    ] as const) {
      metrics.count(uid("a"), worker("a"), status, ms);
    }
    metrics.count(uid("gone"), null, 503, 2);
    expect(metrics.byWorker()).toEqual([
      { worker: { space: "s" as SpaceName, name: "a" }, byClass: [0, 2, 0, 1, 1] },
      { worker: null, byClass: [0, 0, 0, 0, 1] },
    ]);
    const { counts, sumMs } = metrics.durations();
    expect([counts[0], counts[1], counts[DURATION_BUCKETS_MS.length], sumMs]).toEqual([2, 2, 1, 20_004.5]);
  });

  test("the page stays bounded however many Workers there are", () => {
    const metrics = new RequestMetrics();
    for (let i = 0; i < 2_000; i++) metrics.count(uid(`w${i}`), worker(`w${i}`), 200, 1);
    const rows = metrics.byWorker();
    expect(rows).toHaveLength(501);
    expect(rows.at(-1)).toEqual({ worker: null, byClass: [0, 1_500, 0, 0, 0] });
  });
});
