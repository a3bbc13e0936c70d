// A node as an operator runs it: a process of its own, started by the command, stopped or killed from outside.
import { join } from "node:path";

const ROOT = new URL("../../", import.meta.url).pathname;
const ATOLL = join(ROOT, "bin/atoll");

export interface Ready {
  readonly event: "ready";
  readonly http: string;
  readonly https: string;
  readonly baseUrl: string;
  readonly adminTokenFile: string;
  readonly pid: number;
}

export class NodeProcess implements AsyncDisposable {
  readonly ready: Ready;
  readonly data: string;
  readonly #child: Bun.Subprocess;

  private constructor(child: Bun.Subprocess, ready: Ready, data: string) {
    this.#child = child;
    this.ready = ready;
    this.data = data;
  }

  /** Start a node on `data`; port 0 takes free ones. Rejects with what it said when it does not get ready. */
  static async start(
    data: string,
    ports: { readonly http?: string; readonly https?: string } = {},
  ): Promise<NodeProcess> {
    const { http = "127.0.0.1:0", https = "127.0.0.1:0" } = ports;
    const child = Bun.spawn([ATOLL, "serve", "--data", data, "--listen", http, "--tls-listen", https, "--json"], {
      cwd: ROOT,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      env: { ...process.env, ATOLL_LOG_LEVEL: "warn" },
    });
    const first = await firstLine(child.stdout);
    if (first === null) throw new Error(`the node does not start: ${await new Response(child.stderr).text()}`);
    return new NodeProcess(child, JSON.parse(first) as Ready, data);
  }

  /** A new node on the data directory and the ports of this one, which has ended. */
  async again(): Promise<NodeProcess> {
    const { http, https } = this.ready;
    return await NodeProcess.start(this.data, { http: new URL(http).host, https: new URL(https).host });
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#child.exited;
  }

  /** SIGTERM; the exit code. */
  async stop(): Promise<number> {
    this.#child.kill("SIGTERM");
    return await this.#child.exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Run `atoll` to its end. */
export async function atoll(
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: Record<string, string> } = {},
): Promise<Finished> {
  const child = Bun.spawn([ATOLL, ...args], {
    cwd: options.cwd ?? ROOT,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    env: { ...process.env, ...options.env },
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, stdout, stderr };
}

async function firstLine(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<string | null> {
  let text = "";
  for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const end = text.indexOf("\n");
    if (end >= 0) return text.slice(0, end);
  }
  return null;
}
