// Tests of Workers on a real node. This file is the whole public face of the package.
import { SystemClock } from "../../base/clock.ts";
import { openChildNode } from "./child-node.ts";
import { openLocalNode } from "./local-node.ts";
import { nodeDirectory } from "./node-directory.ts";
import { TestAtoll } from "./test-atoll.ts";

export type { LogQuery, LogRecord } from "./node-client.ts";
export type { DeployOptions, TestAtoll } from "./test-atoll.ts";
export type { TestWorker } from "./test-worker.ts";

export interface StartOptions {
  /**
   * `virtual`: the node's time stands still until `advance` moves it, and due times, delays, retries and retention move
   * with it. `real` (default): it passes as it does.
   */
  readonly clock?: "real" | "virtual";
  /** True (default): the node is a process of its own, which `crash` can kill. False: it lives in this one. */
  readonly isolated?: boolean;
  /** A data directory to start on and to leave behind; by default a fresh one that goes away with `stop`. */
  readonly data?: string;
}

/** Start a node for a test. Stop it at the end: `await using atoll = await startAtoll()` does so by itself. */
export async function startAtoll(options: StartOptions = {}): Promise<TestAtoll> {
  const { clock = "real", isolated = true } = options;
  const directory = await nodeDirectory(options.data);
  const testClock = clock === "virtual";
  try {
    const node = isolated
      ? await openChildNode({ data: directory.path, testClock })
      : await openLocalNode({ data: directory.path, testClock });
    return await TestAtoll.open({ node, directory, testClock, system: new SystemClock() });
  } catch (error) {
    await directory.remove();
    throw error;
  }
}
