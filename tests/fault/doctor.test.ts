// `atoll doctor` on this machine: it starts and kills a process of its own.
import { expect, test } from "bun:test";
import { chmodSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Checked } from "../../cli/doctor/diagnosis.ts";
import { atoll, NodeProcess } from "../support/node-process.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const PORTS = ["--listen", "127.0.0.1:0", "--tls-listen", "127.0.0.1:0"];

interface Report {
  readonly verdict: string;
  readonly checks: readonly Checked[];
}

async function doctor(data: string, ports: readonly string[] = PORTS): Promise<{ code: number; report: Report }> {
  const { code, stdout, stderr } = await atoll(["doctor", "--data", data, "--json", ...ports]);
  if (stdout === "") throw new Error(stderr);
  return { code, report: JSON.parse(stdout) as Report };
}

const verdict = (report: Report, name: string): string | undefined =>
  report.checks.find(({ check }) => check === name)?.verdict;

test("acknowledged writes survive the kill of a real process, and the place is left as it was", async () => {
  using directory = temporaryDirectory();
  const { code, report } = await doctor(join(directory.path, "not/yet/there"));
  expect(verdict(report, "kill-survival")).toBe("ok");
  expect(report.checks.map(({ says }) => says).join("\n")).toMatch(/^all [1-9]\d* writes acknowledged/m);
  expect(report.checks.every(({ says }) => !says.includes("could not be looked at"))).toBe(true);
  expect(code).toBe(report.verdict === "fail" ? 1 : 0);
  expect(readdirSync(directory.path)).toEqual([]);
});

test("a node that runs is no fault; a secret that others can read is one", async () => {
  using directory = temporaryDirectory();
  await using node = await NodeProcess.start(directory.path);
  const ports = ["--listen", new URL(node.ready.http).host, "--tls-listen", new URL(node.ready.https).host];
  const beside = await doctor(directory.path, ports);
  expect(verdict(beside.report, "ports")).toBe("ok");
  expect(verdict(beside.report, "data-directory")).toBe("ok");

  chmodSync(join(directory.path, "admin-token"), 0o644);
  await node.kill();
  const { code, report } = await doctor(directory.path);
  expect(code).toBe(1);
  expect(verdict(report, "data-directory")).toBe("fail");
});

test("for people it is one line a check, with what to do below, and a sum", async () => {
  using directory = temporaryDirectory();
  const { stdout } = await atoll(["doctor", "--data", directory.path, ...PORTS]);
  expect(stdout).toMatch(/^(?:ok|warn|fail) +landlock +\S/m);
  expect(stdout).toMatch(/\n\d+ ok, \d+ warn, \d+ fail\n$/);
});
