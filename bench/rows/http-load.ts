// Rows that put one Worker under HTTP load.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type HttpLoad, type LoadResult, wrk } from "../load/wrk.ts";
import { type Address, type Peer, workerFile } from "../peer.ts";
import { type Metric, type Row, type Sample, type Settings, STATELESS, type Subject } from "../row.ts";

/** Enough for compilers to settle, whatever the length of a round. */
const WARM_UP_SECONDS_MIN = 3;

export interface HttpLoadRow {
  readonly name: string;
  readonly title: string;
  /** Name of a Worker of workers/. */
  readonly worker: string;
  readonly contentType?: string;
  /** Sent with every request. */
  readonly body?: string;
  /** What every answer has to be. */
  readonly answer: string;
}

const METRICS: readonly Metric[] = [
  { name: "requests", unit: "/s", better: "more" },
  { name: "p50", unit: "ms", better: "less" },
  { name: "p99", unit: "ms", better: "less" },
];

export function httpLoadRow(spec: HttpLoadRow): Row {
  const { name, title } = spec;
  return {
    name,
    title,
    metrics: METRICS,
    gives: { atoll: STATELESS, before: STATELESS, workerd: STATELESS },
    open: (peer, settings) => open(spec, peer, settings),
  };
}

async function open(spec: HttpLoadRow, peer: Peer, settings: Settings): Promise<Subject> {
  const load = await loadOf(spec, settings.scratch);
  const prepared = await peer.prepare([workerFile(spec.worker)], settings.scratch);
  const running = await prepared.start();
  const address = running.address(spec.worker);
  await checkAnswer(address, load, spec);
  const { connections } = settings;
  const warmUpSeconds = Math.max(WARM_UP_SECONDS_MIN, settings.seconds);
  return {
    warmUp: async () => void (await wrk(address, load, { seconds: warmUpSeconds, connections })),
    sample: async () => sampleOf(await wrk(address, load, settings)),
    close: () => running.stop(),
  };
}

async function loadOf({ body, contentType }: HttpLoadRow, scratch: string): Promise<HttpLoad> {
  const path = "/";
  if (body === undefined) return { method: "GET", path, contentType: "", bodyFile: null };
  const bodyFile = join(scratch, "body");
  await writeFile(bodyFile, body);
  return { method: "POST", path, contentType: contentType ?? "application/octet-stream", bodyFile };
}

/** The peers have to do the same before it is worth knowing how fast. */
async function checkAnswer(address: Address, load: HttpLoad, { body, answer, name }: HttpLoadRow): Promise<void> {
  const response = await fetch(address.origin + load.path, {
    method: load.method,
    headers: { host: address.host, ...(body === undefined ? {} : { "content-type": load.contentType }) },
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  if (response.status !== 200 || text !== answer) {
    throw new Error(`${name}: answered ${response.status} ${JSON.stringify(text.slice(0, 200))}`);
  }
}

function sampleOf({ requestsPerSecond, p50Ms, p99Ms }: LoadResult): Sample {
  return { requests: requestsPerSecond, p50: p50Ms, p99: p99Ms };
}
