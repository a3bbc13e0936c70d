// A node in a process of its own: what kills it, kills it as in the field.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { TestingError } from "./testing-error.ts";
import type { NodeOptions, TestNode } from "./test-node.ts";

const ATOLL = join(import.meta.dirname, "../../bin/atoll");
/** Of what the node said before it failed to start. */
const SAID_CHARS_MAX = 4_096;
const ANY_PORT = "127.0.0.1:0";

interface Ready {
  readonly http: string;
  readonly https: string;
  readonly adminTokenFile: string;
}

interface Running {
  readonly child: ChildProcess;
  readonly ready: Ready;
  /** Call it when the child has ended on purpose. */
  readonly forget: () => void;
}

/** Rejects with what the node said when it does not get ready. */
export async function openChildNode(options: NodeOptions): Promise<TestNode> {
  let running = await run(options, ANY_PORT, ANY_PORT);
  const { http, https, adminTokenFile } = running.ready;
  const end = async (signal: "SIGKILL" | "SIGTERM"): Promise<void> => {
    const { child, forget } = running;
    if (child.exitCode === null && child.signalCode === null) {
      const exited = once(child, "exit");
      child.kill(signal);
      await exited;
    }
    forget();
  };
  return {
    http,
    adminTokenFile,
    async crash() {
      await end("SIGKILL");
      running = await run(options, new URL(http).host, new URL(https).host);
    },
    stop: () => end("SIGTERM"),
  };
}

async function run({ data, testClock }: NodeOptions, listen: string, tlsListen: string): Promise<Running> {
  const flags = ["--data", data, "--listen", listen, "--tls-listen", tlsListen, "--log-level", "warn", "--json"];
  const child = spawn(ATOLL, ["serve", ...flags, ...(testClock ? ["--test-clock"] : [])], {
    stdio: ["ignore", "pipe", "pipe"],
    env: withoutSettings(process.env),
  });
  // A test run that is cut short must not leave a node behind.
  const kill = (): void => void child.kill("SIGKILL");
  process.once("exit", kill);
  const forget = (): void => void process.off("exit", kill);
  let said = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-SAID_CHARS_MAX);
  });
  const first = await firstLine(child);
  if (first === null) {
    forget();
    throw new TestingError(`the node does not start. It said:\n${said.trim() || "(nothing)"}`);
  }
  return { child, ready: JSON.parse(first) as Ready, forget };
}

/** Null when the process ends without one. */
function firstLine(child: ChildProcess): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  child.once("error", () => resolve(null));
  child.once("close", () => resolve(null));
  if (child.stdout !== null) createInterface({ input: child.stdout }).on("line", resolve);
  return promise;
}

/** What a developer has set for a node of their own is not meant for this one. */
function withoutSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("ATOLL_")));
}
