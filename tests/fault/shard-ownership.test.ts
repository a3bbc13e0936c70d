import { expect, test } from "bun:test";
import { join } from "node:path";
import { DueIndex } from "../../storage/shard/due-index.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const modules = new URL("../../", import.meta.url).pathname;

/** Runs `body` in a process of its own, which talks back through stdout and is told to go on through stdin. */
function spawn(body: string): {
  readonly said: (word: string) => Promise<void>;
  readonly goOn: () => void;
  readonly kill: () => Promise<void>;
  readonly output: () => string;
} {
  const child = Bun.spawn([process.execPath, "-e", body], {
    cwd: modules,
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  let output = "";
  let wake = Promise.withResolvers<void>();
  const reading = (async () => {
    for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
      output += chunk;
      wake.resolve();
      wake = Promise.withResolvers();
    }
    wake.reject(new Error(`the process ended after saying: ${output}`));
    wake.promise.catch(() => {});
  })();
  return {
    said: async (word) => {
      while (!output.includes(word)) await wake.promise;
    },
    goOn: () => {
      void child.stdin.write("go\n");
      void child.stdin.flush();
    },
    kill: async () => {
      child.kill("SIGKILL");
      await child.exited;
      await reading;
    },
    output: () => output,
  };
}

const storeIn = (directory: string, owner: string): string => `
  import { ShardStore } from "./storage/shard/shard-store.ts";
  import { writeSync } from "node:fs";
  try {
    const store = await ShardStore.open(${JSON.stringify(directory)}, "0000", ${JSON.stringify(owner)});
    writeSync(1, "open at " + store.fence.epoch + ";");
    for await (const _ of console) {
      try {
        store.dueIndex.apply([{ type: "set", kind: "alarm", key: ${JSON.stringify(owner)}, dueAtMs: 1 }]);
        writeSync(1, "written;");
      } catch (error) {
        writeSync(1, "refused " + error.code + ";");
      }
    }
  } catch (error) {
    writeSync(1, "refused " + error.code + ";");
  }
`;

test("S1: of two processes on one data directory the second is refused, until the first has died of kill -9", async () => {
  using directory = temporaryDirectory();
  const first = spawn(storeIn(directory.path, "node-a"));
  await first.said("open at 1;");
  const second = spawn(storeIn(directory.path, "node-b"));
  await second.said("refused data_directory_in_use;");
  await second.kill();
  first.goOn();
  await first.said("written;");
  await first.kill();

  const third = spawn(storeIn(directory.path, "node-b"));
  await third.said("open at 2;");
  await third.kill();
}, 20_000);

test("E2, S3: a process that lost the shard while it slept writes nothing: `stale_epoch`", async () => {
  using directory = temporaryDirectory();
  const first = spawn(storeIn(directory.path, "node-a"));
  await first.said("open at 1;");
  first.goOn();
  await first.said("written;");
  // The successor that a cluster would install: it does not ask for the lock of a machine it cannot reach.
  const index = join(directory.path, "shards/0000/index.sqlite");
  const successor = DueIndex.open(index, { owner: "node-b", epoch: 2 });
  successor.apply([{ type: "remove", kind: "alarm", key: "node-a" }]);
  first.goOn();
  await first.said("refused stale_epoch;");
  expect(successor.get("alarm", "node-a")).toBeNull();
  successor.close();
  await first.kill();
}, 20_000);
