// What a test asks of a node over its HTTP listener.
import { readFile } from "node:fs/promises";
import type { Cancel, Clock } from "../../base/clock.ts";
import { SystemRandom } from "../../base/random.ts";
import { HostClient } from "../../cli/client/host-client.ts";
import { OperatorClient } from "../../cli/client/operator-client.ts";
import { TestingError } from "./testing-error.ts";
import type { TestNode } from "./test-node.ts";

/** One console line, uncaught error or request of a Worker; see the documentation of logs. */
export interface LogRecord {
  readonly kind: "console" | "error" | "request";
  readonly level: "debug" | "info" | "warn" | "error";
  /** RFC 3339, of the node's clock. */
  readonly time: string;
  readonly space: string;
  readonly worker: string;
  readonly version: string;
  readonly invocation: string | null;
  /** Of `console` and `error`. */
  readonly message?: string;
  /** Of `request`. */
  readonly method?: string;
  readonly path?: string;
  readonly status?: number;
  readonly durationMs?: number;
  readonly outcome?: string;
}

export interface LogQuery {
  readonly worker?: string;
  readonly level?: LogRecord["level"];
  readonly kind?: LogRecord["kind"];
  /** The newest so many; 1000 by default. */
  readonly tail?: number;
}

const TAIL_DEFAULT = 1_000;
/** How long one deployment may take. */
const PATIENCE_MS = 60_000;
/** Operations wait for the node's time only when something went wrong; so long nobody helps them. */
const UNHELPED_MS = 3_000;

export class NodeClient {
  readonly node: TestNode;
  readonly #token: string;

  private constructor(node: TestNode, token: string) {
    this.node = node;
    this.#token = token;
  }

  static async open(node: TestNode): Promise<NodeClient> {
    return new NodeClient(node, (await readFile(node.adminTokenFile, "utf8")).trim());
  }

  /** A client of the Host API. With `moveTime`, waits that take unusually long move the node's clock, too. */
  async host(
    system: Clock,
    moveTime: boolean,
  ): Promise<{ readonly client: HostClient; readonly operator: OperatorClient }> {
    const location = {
      origin: this.node.http,
      baseUrl: { must: "exist" },
      token: this.#token,
      ca: null,
      description: "the node under test",
    } as const;
    const clock = moveTime ? new HelpingClock(system, (ms) => this.advance(ms)) : system;
    const client = await HostClient.connect({
      location,
      fetch: (url, init) => fetch(url, init),
      clock,
      random: new SystemRandom(),
      patienceMs: PATIENCE_MS,
    });
    return { client, operator: new OperatorClient(client.transport, location) };
  }

  /** Unix milliseconds. */
  async nowMs(): Promise<number> {
    return nowOf(await this.#json("GET", "/test-clock"));
  }

  /** The new time in Unix milliseconds. */
  async advance(ms: number): Promise<number> {
    return nowOf(await this.#json("POST", "/test-clock/advance", { ms }));
  }

  async evict(workerUid: string): Promise<number> {
    return Number((await this.#json("POST", "/evictions", { workerUid })).cells);
  }

  async logs({ tail = TAIL_DEFAULT, ...filter }: LogQuery): Promise<readonly LogRecord[]> {
    const query = new URLSearchParams({ ...filter, tail: String(tail), follow: "false" });
    const text = await (await this.#request("GET", `/logs?${query.toString()}`)).text();
    return [...text.matchAll(/^event: log\ndata: (.*)$/gm)].map(([, data]) => JSON.parse(data ?? "") as LogRecord);
  }

  async #json(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
    return (await (await this.#request(method, path, body)).json()) as Record<string, unknown>;
  }

  async #request(method: string, path: string, body?: object): Promise<Response> {
    const response = await fetch(`${this.node.http}/operator/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#token}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (response.ok) return response;
    const { detail, title } = (await response.json().catch(() => ({}))) as { detail?: string; title?: string };
    throw new TestingError(`the node refused ${method} ${path}: ${detail ?? title ?? `status ${response.status}`}`);
  }
}

function nowOf(answer: Record<string, unknown>): number {
  return Number(answer["nowMs"]);
}

/** Real time; after a while each wait moves the node's time as well, so that its retries come about. */
class HelpingClock implements Clock {
  readonly #system: Clock;
  readonly #advance: (ms: number) => Promise<unknown>;
  readonly #sinceMs: number;

  constructor(system: Clock, advance: (ms: number) => Promise<unknown>) {
    this.#system = system;
    this.#advance = advance;
    this.#sinceMs = system.monotonicMs();
  }

  nowMs(): number {
    return this.#system.nowMs();
  }

  monotonicMs(): number {
    return this.#system.monotonicMs();
  }

  after(delayMs: number, fire: () => void): Cancel {
    return this.#system.after(delayMs, () => {
      if (this.#system.monotonicMs() - this.#sinceMs < UNHELPED_MS) fire();
      else this.#advance(Math.ceil(delayMs)).then(fire, fire);
    });
  }
}
