// Load from wrk, a process of its own with one thread.
import { spawn } from "node:child_process";
import type { Address } from "../peer.ts";

const SCRIPT = new URL("./wrk.lua", import.meta.url).pathname;

export interface HttpLoad {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly contentType: string;
  /** File with the body of every request; null for none. */
  readonly bodyFile: string | null;
}

export interface LoadResult {
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

interface Line {
  readonly requests: number;
  readonly us: number;
  readonly bad: number;
  readonly p50us: number;
  readonly p99us: number;
}

/** Rejects when a request failed or was not answered with 2xx or 3xx: then the numbers mean nothing. */
export async function wrk(
  address: Address,
  load: HttpLoad,
  { seconds, connections }: { readonly seconds: number; readonly connections: number },
): Promise<LoadResult> {
  const args = ["-t1", `-c${connections}`, `-d${seconds}s`, "--timeout=10s", "--latency", "-s", SCRIPT];
  const stdout = await output([...args, address.origin + load.path], {
    BENCH_METHOD: load.method,
    BENCH_HOST: address.host,
    ...(load.bodyFile === null ? {} : { BENCH_BODY_FILE: load.bodyFile, BENCH_CONTENT_TYPE: load.contentType }),
  });
  return readResult(stdout);
}

export function readResult(stdout: string): LoadResult {
  const text = /^BENCH (\{.*\})$/m.exec(stdout)?.[1];
  if (text === undefined) throw new Error(`wrk said nothing that can be read: ${stdout.slice(-500)}`);
  const { requests, us, bad, p50us, p99us } = JSON.parse(text) as Line;
  if (requests === 0) throw new Error("no request was answered");
  if (bad > 0) throw new Error(`${bad} of ${requests} requests failed or got an error status`);
  return { requestsPerSecond: requests / (us / 1e6), p50Ms: p50us / 1e3, p99Ms: p99us / 1e3 };
}

function output(args: readonly string[], env: Readonly<Record<string, string>>): Promise<string> {
  const child = spawn("wrk", args, { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, ...env } });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (more: string) => {
    text += more;
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => (code === 0 ? resolve(text) : reject(new Error(`wrk ended with code ${code}`))));
  });
}
