// A cell's thread for the fault tests: counts in the stores that it is given, and says so when a count is durable.
import { SystemRandom } from "../../base/random.ts";
import { ActorStore } from "../../storage/actor/actor-store.ts";
import type { CommitSink } from "../../storage/actor/commit-sink.ts";

declare const self: Worker;

export type ToCell =
  | { readonly type: "serve"; readonly id: string; readonly path: string }
  | { readonly type: "answer"; readonly call: number; readonly failed: boolean };
export type FromCell =
  | {
      readonly type: "call";
      readonly call: number;
      readonly id: string;
      readonly what: keyof CommitSink;
      readonly payload?: Uint8Array;
    }
  | { readonly type: "counted"; readonly id: string; readonly count: number }
  | { readonly type: "closed"; readonly id: string; readonly how: "clean" | "lost" };

const calls = new Map<number, PromiseWithResolvers<void>>();
const tell = (message: FromCell): void => self.postMessage(message);

function sinkFor(id: string): CommitSink {
  const call = (what: keyof CommitSink, payload?: Uint8Array): Promise<void> => {
    const number = calls.size + 1;
    const answer = Promise.withResolvers<void>();
    calls.set(number, answer);
    tell({ type: "call", call: number, id, what, ...(payload === undefined ? {} : { payload }) });
    return answer.promise;
  };
  return {
    committed: (payload) => call("committed", payload),
    synced: () => call("synced"),
    checkpointed: () => call("checkpointed"),
  };
}

async function serve(id: string, path: string): Promise<void> {
  const store = ActorStore.open({ path, sink: sinkFor(id), random: new SystemRandom(), quotaBytes: 64 << 20 });
  store.sql.execute("CREATE TABLE IF NOT EXISTS counter (n)");
  store.sql.execute("CREATE TABLE IF NOT EXISTS turn (n INTEGER PRIMARY KEY, body)");
  store.sql.execute("INSERT INTO counter SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM counter)");
  for (let turn = 1; turn <= 60; turn++) {
    const { results } = store.sql.transaction([
      { sql: "UPDATE counter SET n = n + 1 RETURNING n" },
      { sql: "INSERT INTO turn SELECT n, zeroblob(n % 5000) FROM counter" },
    ]);
    const count = Number(results[0]?.rows[0]?.["n"]);
    await store.durable();
    tell({ type: "counted", id, count });
    if (turn % 25 === 0) await store.checkpoint();
  }
  tell({ type: "closed", id, how: await store.close() });
}

self.onmessage = ({ data }: MessageEvent<ToCell>) => {
  if (data.type === "serve") void serve(data.id, data.path);
  else if (data.failed) calls.get(data.call)?.reject(new Error("refused"));
  else calls.get(data.call)?.resolve();
};
