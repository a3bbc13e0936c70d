// Processes that the bench starts: found ready by their first line, and never left behind.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { type ChildProcess, spawn } from "node:child_process";
import type { Memory } from "./peer.ts";

const STOP_MS_MAX = 10_000;
const alive = new Set<ChildProcess>();

process.once("exit", () => {
  for (const child of alive) child.kill("SIGKILL");
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));

export interface Child {
  readonly startedAtMs: number;
  /** From the start until `isReady` liked a line. */
  readonly readyMs: number;
  readonly readyLine: string;
  memory(): Memory;
  stop(): Promise<void>;
}

/** Start a command; resolves at the first line on stdout that `isReady` likes. Rejects with its stderr when it ends before. */
export function startChild(
  command: readonly [string, ...string[]],
  isReady: (line: string) => boolean,
  env: Readonly<Record<string, string>> = {},
): Promise<Child> {
  const startedAtMs = performance.now();
  const [file, ...args] = command;
  const child = spawn(file, args, { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...env } });
  alive.add(child);
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr = (stderr + text).slice(-4_000);
  });
  const exited = new Promise<void>((resolve) => {
    child.once("close", () => {
      alive.delete(child);
      resolve();
    });
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    void exited.then(() => reject(new Error(`${file} ended before it was ready: ${stderr.trim()}`)));
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (!isReady(line)) return;
      resolve({
        startedAtMs,
        readyMs: performance.now() - startedAtMs,
        readyLine: line,
        memory: () => memoryOf(child.pid ?? 0),
        stop: async () => {
          child.kill("SIGTERM");
          const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS_MAX);
          await exited;
          clearTimeout(timer);
        },
      });
    });
  });
}

/** Run a command to its end; resolves to its stdout, rejects with its stderr when it fails. */
export function runToEnd(command: readonly [string, ...string[]]): Promise<string> {
  const [file, ...args] = command;
  const child = spawn(file, args, { stdio: ["ignore", "pipe", "pipe"] });
  alive.add(child);
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      alive.delete(child);
      if (code === 0) resolve(stdout);
      else reject(new Error(`${file} ${args.join(" ")} failed: ${stderr.trim()}`));
    });
  });
}

function memoryOf(pid: number): Memory {
  let { residentBytes, anonymousBytes } = ownMemory(pid);
  for (const child of childrenOf(pid)) {
    const more = memoryOf(child);
    residentBytes += more.residentBytes;
    anonymousBytes += more.anonymousBytes;
  }
  return { residentBytes, anonymousBytes };
}

function ownMemory(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, "latin1");
  const bytes = (field: string): number => Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) * 1_024;
  return { residentBytes: bytes("VmRSS"), anonymousBytes: bytes("RssAnon") };
}

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").trim();
  return text === "" ? [] : text.split(" ").map(Number);
}
