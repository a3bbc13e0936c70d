// A node that replaces its own process because a thread in it cannot be stopped.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { buildBinary } from "../../scripts/build.ts";
import { atoll, NodeProcess, type Program } from "../support/node-process.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const HARNESS = "tests/support/restarting-atoll.ts";

/** Through two restarts: what starts itself once has to be able to do it again. */
async function restartsTwice(program: Program, directory: string): Promise<void> {
  const entry = join(directory, "worker.js");
  await Bun.write(entry, 'export default { fetch: () => new Response("still here") };');
  const data = join(directory, "a data directory");
  await using node = await NodeProcess.start(data, {}, program);
  const deployed = await atoll(["deploy", entry, "--data", data, "--json"], { program });
  expect(deployed).toMatchObject({ code: 0 });
  const { hostname } = JSON.parse(deployed.stdout) as { hostname: string };
  for (let round = 0; round < 2; round++) {
    node.signal("SIGUSR2");
    const ready = await node.readyAgain();
    expect(ready.pid).toBe(node.ready.pid);
    const response = await fetch(ready.http, { headers: { host: hostname } });
    expect(await response.text()).toBe("still here");
  }
  expect(await node.stop()).toBe(0);
}

test("a node of a checkout replaces itself: the pid stays, the stuck thread is gone, the Worker answers", async () => {
  using directory = temporaryDirectory();
  const command = [process.execPath, "--no-env-file", join(ROOT, HARNESS)];
  await restartsTwice({ command, cwd: directory.path, env: process.env }, directory.path);
});

test("a node of the binary replaces itself in the same way", async () => {
  using directory = temporaryDirectory();
  const binary = join(directory.path, "atoll");
  await buildBinary({ main: HARNESS, outfile: binary, commit: "" });
  await restartsTwice({ command: [binary], cwd: directory.path, env: {} }, directory.path);
});
