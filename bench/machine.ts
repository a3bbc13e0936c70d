import { execFileSync } from "node:child_process";
import { cpus, loadavg, release, totalmem } from "node:os";

/** What the numbers depend on. */
export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memoryGib: number;
  readonly kernel: string;
  readonly bun: string;
  readonly wrk: string;
  /** Processes that wanted to run in the last minute, before the bench began. */
  readonly load: number;
}

export function describeMachine(): Machine {
  return {
    processor: cpus()[0]?.model.trim() ?? "unknown",
    cores: cpus().length,
    memoryGib: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    bun: process.versions["bun"] ?? "",
    wrk: wrkVersion(),
    load: Number((loadavg()[0] ?? 0).toFixed(2)),
  };
}

function wrkVersion(): string {
  try {
    // It prints its version and fails, having been given no URL.
    execFileSync("wrk", ["--version"], { stdio: "pipe" });
  } catch (error) {
    const { stdout } = error as { stdout?: Buffer };
    return /^wrk (\S+)/.exec(stdout?.toString() ?? "")?.[1] ?? "unknown";
  }
  return "unknown";
}
