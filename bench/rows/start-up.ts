// Rows about the time from the start of the process: until it says that it takes requests, and until the first Worker
// has answered one.
import { type Peer, type Running, workerFile, type WorkerSource } from "../peer.ts";
import type { Metric, Row, Sample, Settings, Subject } from "../row.ts";

const HELLO = workerFile("hello");
const READY: Metric = { name: "ready", unit: "ms", better: "less" };
const FIRST_ANSWER: Metric = { name: "first answer", unit: "ms", better: "less" };
const RECOVERED = "recovers everything that was accepted before a stop or a crash, then is ready";

function startUpRow(spec: {
  readonly name: string;
  readonly title: string;
  readonly workers: readonly WorkerSource[];
  readonly workerd: string;
}): Row {
  return {
    name: spec.name,
    title: spec.title,
    metrics: spec.workers.length === 0 ? [READY] : [READY, FIRST_ANSWER],
    gives: { atoll: RECOVERED, binary: RECOVERED, before: RECOVERED, workerd: spec.workerd },
    open: (peer, settings) => open(peer, spec.workers, settings),
  };
}

async function open(peer: Peer, workers: readonly WorkerSource[], { scratch }: Settings): Promise<Subject> {
  const prepared = await peer.prepare(workers, scratch);
  const first = workers[0];
  const sample = async (): Promise<Sample> => {
    const running = await prepared.start();
    try {
      if (first === undefined) return { ready: running.readyMs };
      return { ready: running.readyMs, "first answer": await firstAnswerMs(running, first.name) };
    } finally {
      await running.stop();
    }
  };
  // The first start reads its files from the disk, the others from the page cache, on every side.
  return { warmUp: async () => void (await sample()), sample, close: async () => {} };
}

async function firstAnswerMs(running: Running, worker: string): Promise<number> {
  const { origin, host } = running.address(worker);
  const response = await fetch(origin, { headers: { host } });
  await response.bytes();
  if (response.status !== 200) throw new Error(`the first request was answered with ${response.status}`);
  return performance.now() - running.startedAtMs;
}

/** Different modules, as a thousand Workers would have. */
function copies(count: number): WorkerSource[] {
  return Array.from({ length: count }, (_, i) => ({
    name: `${HELLO.name}-${i}`,
    source: HELLO.source.replace("world", `world ${i}`),
  }));
}

const CONFIGURED = "reads its configuration; there is no state to recover";

export const startUpRows = [
  startUpRow({
    name: "start-empty",
    title: "start-up without any Worker",
    workers: [],
    workerd: `${CONFIGURED}; it cannot start empty, so it has one Worker`,
  }),
  startUpRow({ name: "start-one", title: "start-up with one Worker", workers: [HELLO], workerd: CONFIGURED }),
  startUpRow({
    name: "start-1000",
    title: "start-up with 1,000 Workers on disk",
    workers: copies(1_000),
    workerd: CONFIGURED,
  }),
];
