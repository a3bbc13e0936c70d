// The numbers of a node, as Prometheus would fetch them.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { startAtoll } from "@atoll/testing";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const SAMPLE =
  /^[a-zA-Z_:][a-zA-Z0-9_:]*(?:\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\"n])*",?)*\})? (?:[-+]?[\d.]+(?:e[-+]?\d+)?|\+Inf)$/;

test("metrics: requests by Worker and class, cells, Operations, bytes; for admins alone, and every line well-formed", async () => {
  using directory = temporaryDirectory();
  await using atoll = await startAtoll({ data: directory.path });
  const worker = await atoll.deploy({
    name: "counted",
    source: `export default { fetch(request) {
      if (request.url.endsWith("/boom")) throw new Error("boom");
      return new Response(null, { status: request.url.endsWith("/gone") ? 404 : 200 });
    } };`,
  });
  for (const path of ["/", "/", "/gone", "/boom"]) await worker.fetch(path);
  const url = `${atoll.origin}/operator/v1/metrics`;
  expect((await fetch(url)).status).toBe(401);
  const token = (await Bun.file(join(directory.path, "admin-token")).text()).trim();
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  const lines = (await response.text()).trimEnd().split("\n");
  const samples = lines.filter((line) => !line.startsWith("#"));
  expect(samples.filter((line) => !SAMPLE.test(line))).toEqual([]);
  const by = 'space="default",worker="counted"';
  for (const expected of [
    `atoll_requests_total{${by},status="2xx"} 2`,
    `atoll_requests_total{${by},status="4xx"} 1`,
    `atoll_requests_total{${by},status="5xx"} 1`,
    'atoll_request_duration_seconds_bucket{le="+Inf"} 4',
    "atoll_request_duration_seconds_count 4",
    'atoll_cells{phase="live"} 1',
    'atoll_operations{status="succeeded"} 5',
    "atoll_log_entries_dropped_total 0",
  ]) {
    expect(samples).toContain(expected);
  }
  const valueOf = (name: string): number => Number(samples.find((line) => line.startsWith(`${name} `))?.split(" ")[1]);
  expect(valueOf("atoll_artifact_bytes")).toBeGreaterThan(0);
  expect(valueOf("process_resident_memory_bytes")).toBeGreaterThan(10 * 2 ** 20);
});
