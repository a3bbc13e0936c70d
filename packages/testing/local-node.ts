// A node in the process of the test: quicker to start and within reach of a debugger.
import { SystemClock } from "../../base/clock.ts";
import { silentLogger } from "../../base/log.ts";
import { SystemRandom } from "../../base/random.ts";
import { loadConfig } from "../../cli/config.ts";
import { openNode } from "../../cli/node/node.ts";
import { TestingError } from "./testing-error.ts";
import type { NodeOptions, TestNode } from "./test-node.ts";

const DRAIN_MS = 5_000;

export async function openLocalNode({ data, testClock }: NodeOptions): Promise<TestNode> {
  const flags = { data, listen: "127.0.0.1:0", tlsListen: "127.0.0.1:0" };
  const node = await openNode({
    config: await loadConfig({ flags, env: {}, cwd: data }),
    clock: new SystemClock(),
    testClock,
    random: new SystemRandom(),
    log: silentLogger,
    secretKey: undefined,
    onStuckCell: () => {
      throw new TestingError("a Worker is inside native code that cannot be stopped; run it with isolated: true");
    },
  });
  return {
    http: node.http,
    adminTokenFile: node.adminTokenFile,
    crash: async () => {
      throw new TestingError("a node inside the test's own process cannot be killed; start it with isolated: true");
    },
    stop: () => node.stop(DRAIN_MS),
  };
}
