// The commands against a node as an operator runs both: real processes, real sockets, real files.
import { describe, expect, test } from "bun:test";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { atoll, type Finished, NodeProcess } from "../support/node-process.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const EXAMPLE = join(ROOT, "examples/hello/worker.ts");

interface Answer {
  readonly url: string;
  readonly hostname: string;
  readonly workerUid: string;
  readonly versionUid: string;
  readonly changed: boolean;
}

async function deploy(data: string, entry = EXAMPLE, ...more: string[]): Promise<Answer> {
  const { code, stdout, stderr } = await atoll(["deploy", entry, "--name", "hello", "--data", data, "--json", ...more]);
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as Answer;
}

const ask = async (node: NodeProcess, hostname: string): Promise<string> =>
  (await fetch(node.ready.http, { headers: { host: hostname } })).text();

/** The error object of a command with `--json`: the last line behind its progress. */
function errorOf({ stderr }: Finished): unknown {
  return (JSON.parse(stderr.trimEnd().split("\n").at(-1) ?? "") as { error: unknown }).error;
}

describe("commands against a real node", () => {
  test("deploy makes the example answer on both listeners; again it changes nothing; other bytes change the answer", async () => {
    using directory = temporaryDirectory();
    const data = join(directory.path, "data");
    await using node = await NodeProcess.start(data);
    const first = await deploy(data);
    expect(first).toMatchObject({ changed: true, url: `https://${first.hostname}/` });
    expect(await ask(node, first.hostname)).toStartWith("Hello, world!");
    const overTls = await fetch(`https://localhost:${new URL(node.ready.https).port}/?name=Ada`, {
      headers: { host: first.hostname },
      tls: { ca: await Bun.file(join(data, "tls/ca.pem")).text() },
    });
    expect(await overTls.text()).toStartWith("Hello, Ada!");

    const list = async (): Promise<unknown> =>
      JSON.parse((await atoll(["resources", "list", "--data", data, "--json"])).stdout);
    const before = await list();
    expect(await deploy(data)).toEqual({ ...first, changed: false });
    expect(await list()).toEqual(before);

    const changed = join(directory.path, "worker.ts");
    await Bun.write(changed, "export default { fetch: () => new Response('changed') };");
    const second = await deploy(data, changed);
    expect(second).toMatchObject({ changed: true, url: first.url, workerUid: first.workerUid });
    expect(await ask(node, first.hostname)).toBe("changed");
    expect(await node.stop()).toBe(0);
  }, 60_000);

  test("tokens and Spaces: a principal sees its own Space over HTTPS, and nothing after its token is revoked", async () => {
    using directory = temporaryDirectory();
    const data = join(directory.path, "data");
    await using node = await NodeProcess.start(data);
    expect((await atoll(["space", "create", "team", "--data", data])).code).toBe(0);
    const made = await atoll(["token", "create", "--principal", "ada", "--space", "team", "--data", data, "--json"]);
    expect(made.code).toBe(0);
    const issued = JSON.parse(made.stdout) as { token: string; principal: string; spaces: string[] };
    expect(issued).toEqual({ token: expect.any(String), principal: "ada", spaces: ["team"] });

    const tokenFile = join(directory.path, "token");
    await Bun.write(tokenFile, issued.token);
    chmodSync(tokenFile, 0o600);
    const there = ["--url", node.ready.https, "--token-file", tokenFile, "--ca-file", join(data, "tls/ca.pem")];
    const team = await atoll(["deploy", EXAMPLE, "--name", "hello", "--space", "team", "--json", ...there]);
    expect(team).toMatchObject({ code: 0 });
    const elsewhere = await atoll(["deploy", EXAMPLE, "--name", "hello", "--json", ...there]);
    expect(elsewhere.code).toBe(1);
    const byEnvironment = await atoll(["resources", "list", "--json"], {
      env: { ATOLL_URL: node.ready.http, ATOLL_TOKEN: issued.token },
    });
    const { items } = JSON.parse(byEnvironment.stdout) as { items: { space: string }[] };
    expect(new Set(items.map((item) => item.space))).toEqual(new Set(["team"]));

    const tokens = await atoll(["token", "list", "--data", data, "--json"]);
    expect(tokens.stdout).not.toContain(issued.token);
    const hers = (JSON.parse(tokens.stdout) as { items: { id: string; principal: string }[] }).items.find(
      (it) => it.principal === "ada",
    );
    expect((await atoll(["token", "revoke", hers?.id ?? "", "--data", data])).code).toBe(0);
    const refused = await atoll(["resources", "list", "--json", ...there]);
    expect(refused.code).toBe(1);
    expect(errorOf(refused)).toMatchObject({ code: "unauthenticated" });
    expect(refused.stderr).not.toContain(issued.token);
  }, 60_000);

  test("show, delete and operations: what was deployed can be looked at and taken down", async () => {
    using directory = temporaryDirectory();
    const data = join(directory.path, "data");
    await using node = await NodeProcess.start(data);
    const { hostname, versionUid } = await deploy(data);
    const shown = JSON.parse(
      (await atoll(["resources", "show", "hello-endpoint", "--data", data, "--json"])).stdout,
    ) as { lastOperation: string; uid: string };
    expect(shown).toMatchObject({ phase: "idle", output: { hostname } });
    const operation = await atoll(["operations", "show", shown.lastOperation, "--data", data, "--json"]);
    expect(JSON.parse(operation.stdout)).toMatchObject({ resourceUid: shown.uid, status: "succeeded" });
    const blocked = await atoll(["resources", "delete", versionUid, "--data", data, "--json"]);
    expect(errorOf(blocked)).toMatchObject({ code: "dependency_conflict" });
    for (const name of ["hello-endpoint", "hello-deployment", versionUid]) {
      expect(await atoll(["resources", "delete", name, "--data", data])).toMatchObject({ code: 0 });
    }
    expect((await atoll(["resources", "show", "hello-endpoint", "--data", data])).code).toBe(1);
    expect(await ask(node, hostname)).not.toContain("Hello");
  }, 60_000);

  test("a second node on the same data directory is refused in plain words, and the first one goes on", async () => {
    using directory = temporaryDirectory();
    await using node = await NodeProcess.start(directory.path);
    const second = await atoll([
      "serve",
      "--data",
      directory.path,
      "--listen",
      "127.0.0.1:0",
      "--tls-listen",
      "127.0.0.1:0",
    ]);
    expect(second).toMatchObject({ code: 1, stdout: "" });
    expect(second.stderr).toContain("another process is using this data directory");
    expect((await fetch(`${node.ready.http}/.well-known/takoform/v2`)).status).toBe(200);
  }, 30_000);
});

test("HA-127, HA-150: kill -9 of the node in the middle of a deployment; it comes back, and the same command finishes", async () => {
  using directory = temporaryDirectory();
  const data = join(directory.path, "data");
  const first = await NodeProcess.start(data);
  const child = Bun.spawn([join(ROOT, "bin/atoll"), "deploy", EXAMPLE, "--name", "hello", "--data", data, "--json"], {
    cwd: ROOT,
    stdout: "pipe",
    stderr: "pipe",
  });
  let said = "";
  let killed: NodeProcess | null = null;
  for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) {
    said += text;
    if (killed !== null || !said.includes("creating version")) continue;
    await first.kill();
    killed = await first.again();
  }
  await using node = killed ?? first;
  expect(killed).not.toBeNull();
  expect(await child.exited).toBe(0);
  const deployed = JSON.parse(await new Response(child.stdout).text()) as Answer;
  expect(await ask(node, deployed.hostname)).toStartWith("Hello, world!");
  const { items } = JSON.parse((await atoll(["resources", "list", "--data", data, "--json"])).stdout) as {
    items: unknown[];
  };
  expect(items).toHaveLength(5);
}, 60_000);

test("npm start: the curl line that it prints works, and SIGTERM ends everything it started", async () => {
  using directory = temporaryDirectory();
  const data = join(directory.path, "data");
  const child = Bun.spawn(["node", join(ROOT, "scripts/run.mjs"), "start"], {
    cwd: ROOT,
    stdout: "pipe",
    stderr: "inherit",
    env: { ...process.env, ATOLL_DATA: data },
  });
  let output = "";
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    output += text;
    if (output.includes("Ctrl+C")) break;
  }
  const line = /curl -H .*/.exec(output)?.[0] ?? "";
  const answer = Bun.spawnSync(["sh", "-c", line.replace("curl", "curl --silent")]);
  expect(answer.stdout.toString()).toStartWith("Hello, world!");
  const { pid, http } = (await Bun.file(join(data, "node.json")).json()) as { pid: number; http: string };
  expect(() => process.kill(pid, 0)).not.toThrow();
  child.kill("SIGTERM");
  expect(await child.exited).toBe(0);
  expect(() => process.kill(pid, 0)).toThrow();
  const gone = await fetch(http).then(
    () => "answers",
    () => "gone",
  );
  expect(gone).toBe("gone");
}, 60_000);
