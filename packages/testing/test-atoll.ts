import type { Clock } from "../../base/clock.ts";
import { parseDuration } from "../../base/duration.ts";
import type { Json } from "../../base/json.ts";
import { deploy } from "../../cli/deploy/deploy.ts";
import type { HandlerName } from "../../runtime/workers/worker-runtime.ts";
import { type LogQuery, type LogRecord, NodeClient } from "./node-client.ts";
import type { NodeDirectory } from "./node-directory.ts";
import { TestingError } from "./testing-error.ts";
import type { TestNode } from "./test-node.ts";
import { TestWorker } from "./test-worker.ts";
import { buildWorker, type WorkerSource } from "./worker-source.ts";

export interface DeployOptions extends WorkerSource {
  /** `worker-1`, `worker-2` … by default. The same name again is the same Worker with a new Version. */
  readonly name?: string;
  readonly space?: string;
  /** Those that the default export has, by default. */
  readonly handlers?: readonly HandlerName[];
  readonly vars?: Readonly<Record<string, Json>>;
  readonly secrets?: Readonly<Record<string, string>>;
  /** Workers by binding name. */
  readonly services?: Readonly<Record<string, TestWorker | string>>;
}

export interface TestAtollParts {
  readonly node: TestNode;
  readonly directory: NodeDirectory;
  readonly testClock: boolean;
  readonly system: Clock;
}

/** A node for one test or a few. */
export class TestAtoll implements AsyncDisposable {
  readonly #parts: TestAtollParts;
  readonly #client: NodeClient;
  #nowMs: number;
  #names = 0;

  private constructor(parts: TestAtollParts, client: NodeClient, nowMs: number) {
    this.#parts = parts;
    this.#client = client;
    this.#nowMs = nowMs;
  }

  static async open(parts: TestAtollParts): Promise<TestAtoll> {
    const client = await NodeClient.open(parts.node);
    return new TestAtoll(parts, client, parts.testClock ? await client.nowMs() : 0);
  }

  /** Origin of the node's plain listener. */
  get origin(): string {
    return this.#parts.node.http;
  }

  /** Bundle a Worker and make it answer, through the public Host API. Rejects with what is wrong with it, and where. */
  async deploy(options: DeployOptions): Promise<TestWorker> {
    const { system, testClock, node } = this.#parts;
    const { name = `worker-${++this.#names}`, space = "default", vars = {}, secrets = {}, services = {} } = options;
    const { files, handlers } = await buildWorker(options, options.handlers, system);
    const { client, operator } = await this.#client.host(system, testClock);
    const deployed = await deploy(
      { client, operator, say: () => {} },
      {
        name,
        space,
        files,
        handlers,
        vars,
        secrets,
        services: Object.fromEntries(
          Object.entries(services).map(([binding, to]) => [binding, typeof to === "string" ? to : to.name]),
        ),
      },
    );
    if (testClock) this.#nowMs = await this.#client.nowMs();
    return new TestWorker(deployed, node.http);
  }

  /** The node's time. */
  now(): Date {
    return new Date(this.#parts.testClock ? this.#nowMs : this.#parts.system.nowMs());
  }

  /**
   * Move the node's time by milliseconds or by a duration such as `"90s"`, `"2h"` or `"1d12h"`. Resolves to the new time
   * when everything that was due by then has run.
   */
  async advance(by: number | string): Promise<Date> {
    this.#requireTestClock("advance");
    const ms = typeof by === "number" ? by : parseDuration(by);
    if (ms === null) throw new TestingError(`${JSON.stringify(by)} is no duration; write "90s", "2h" or "1d12h"`);
    this.#nowMs = await this.#client.advance(ms);
    return this.now();
  }

  /** What Workers printed and threw, and the requests they answered, oldest first. Bounded; a crash empties it. */
  async logs(query: LogQuery = {}): Promise<readonly LogRecord[]> {
    return await this.#client.logs(query);
  }

  /** Kill the node as loss of its process does, at whatever it is doing, and start it again on what is on disk. */
  async crash(): Promise<void> {
    await this.#parts.node.crash();
  }

  /** End the Worker's cells, as the node does with idle ones: its next event meets fresh modules. */
  async evict(worker: TestWorker): Promise<void> {
    this.#requireTestClock("evict");
    await this.#client.evict(worker.workerUid);
  }

  /** Let requests finish, end the node, and remove its data directory if it was made for the test. */
  async stop(): Promise<void> {
    await this.#parts.node.stop();
    await this.#parts.directory.remove();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #requireTestClock(what: string): void {
    if (this.#parts.testClock) return;
    throw new TestingError(`${what} needs a node with a test clock: startAtoll({ clock: "virtual" })`);
  }
}
