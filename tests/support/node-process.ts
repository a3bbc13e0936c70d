// A node as an operator runs it: a process of its own, started by the command, stopped or killed from outside.
import { join } from "node:path";

const ROOT = new URL("../../", import.meta.url).pathname;
const ATOLL = join(ROOT, "bin/atoll");

/** A way to run the command: what to start, where, and with which environment. */
export interface Program {
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The command of this checkout, with the environment of the tests. */
const CHECKOUT: Program = { command: [ATOLL], cwd: ROOT, env: process.env };

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
  readonly #program: Program;
  readonly #child: Bun.Subprocess;
  readonly #lines: AsyncGenerator<string, void>;

  private constructor(
    program: Program,
    child: Bun.Subprocess,
    lines: AsyncGenerator<string, void>,
    ready: Ready,
    data: string,
  ) {
    this.#program = program;
    this.#child = child;
    this.#lines = lines;
    this.ready = ready;
    this.data = data;
  }

  /** Start a node on `data`; port 0 takes free ones. Rejects with what it said when it does not get ready. */
  static async start(
    data: string,
    ports: { readonly http?: string; readonly https?: string } = {},
    program: Program = CHECKOUT,
  ): Promise<NodeProcess> {
    const { http = "127.0.0.1:0", https = "127.0.0.1:0" } = ports;
    const serve = ["serve", "--data", data, "--listen", http, "--tls-listen", https, "--json"];
    const child = Bun.spawn([...program.command, ...serve], {
      cwd: program.cwd,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      env: { ...program.env, ATOLL_LOG_LEVEL: "warn" },
    });
    const lines = linesOf(child.stdout);
    const first = await lines.next();
    if (first.done === true) throw new Error(`the node does not start: ${await new Response(child.stderr).text()}`);
    return new NodeProcess(program, child, lines, JSON.parse(first.value) as Ready, data);
  }

  /** What the same process says when it is ready once more, after it has replaced itself. */
  async readyAgain(): Promise<Ready> {
    const next = await this.#lines.next();
    if (next.done === true) throw new Error("the node has ended");
    return JSON.parse(next.value) as Ready;
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** A new node on the data directory and the ports of this one, which has ended. */
  async again(): Promise<NodeProcess> {
    const { http, https } = this.ready;
    return await NodeProcess.start(this.data, { http: new URL(http).host, https: new URL(https).host }, this.#program);
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
  options: { readonly cwd?: string; readonly env?: Record<string, string>; readonly program?: Program } = {},
): Promise<Finished> {
  const { program = CHECKOUT } = options;
  const child = Bun.spawn([...program.command, ...args], {
    cwd: options.cwd ?? program.cwd,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    env: { ...program.env, ...options.env },
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, stdout, stderr };
}

async function* linesOf(stream: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string, void> {
  let text = "";
  for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (text + chunk).split("\n");
    text = lines.pop() ?? "";
    yield* lines;
  }
}
