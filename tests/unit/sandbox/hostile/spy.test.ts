// Tenant code replaces every built-in by a spy while the bootstrap and the engine's own JavaScript work, and none of
// them ever sees an object of the host.
import { expect, test } from "bun:test";
import { openSpyRig, runStep, STEPS } from "./spy-steps.ts";

const NOTHING_FOUND = /^\d+ patched, (many|only \d+) values seen\n$/;

test("MW-67: the steps work while nobody spies", async () => {
  await using rig = openSpyRig();
  const results: Record<string, string> = {};
  for (const name of STEPS) results[name] = await runStep(rig, name);
  expect(results).toEqual({
    plain: "200 x",
    json: `200 {"a":[1]}`,
    echo: "200 300000",
    text: "200 300000",
    large: "200 600000",
    stream: "200 350000",
    broken: "Error",
    headers: "204 ",
    throws: "HandlerFailed",
    nothing: "HandlerFailed",
    console: "200 ",
    timers: "200 ",
    call: "200 from outside",
    upload: "200 300000",
    refused: "200 the call could not be completed",
    aborted: "200 AbortError",
    service: "200 from outside",
    imports: "200 1,late,7,3,module_not_foundSyntaxErrorthrown at the top",
    waits: "200 ",
    platform: "200 ",
    pipes: "200 abc3000",
    zips: "200 3000",
  });
});

test("MW-67: spies on all built-ins see nothing of the host, whatever a handler sets in motion", async () => {
  await using rig = openSpyRig();
  await rig.loaded();
  expect(Number(await rig.text("/patch"))).toBeGreaterThan(500);
  for (const name of STEPS) await runStep(rig, name);
  const endless = rig.start("/endless");
  const body = (await endless.result).body as ReadableStream<Uint8Array>;
  await body.cancel();
  await endless.ended;
  expect(await rig.text("/report")).toMatch(NOTHING_FOUND);
}, 15_000);

test("MW-67: the spies would tell", async () => {
  await using rig = openSpyRig();
  await rig.loaded();
  await rig.text("/patch");
  expect(await runStep(rig, "leak")).toBe("200 ");
  expect(await rig.text("/report")).toContain("a function of the host");
});

// In a process of its own, because a test runner takes every uncaught error of its threads for its own.
test("MW-67: errors that nobody caught end no thread, are logged, and show spies nothing of the host", async () => {
  const child = Bun.spawn([process.execPath, new URL("./stray-errors-child.ts", import.meta.url).pathname], {
    stdout: "pipe",
    stderr: "inherit",
  });
  const { results, lines, report } = JSON.parse(await new Response(child.stdout).text()) as Record<string, string[]>;
  expect(await child.exited).toBe(0);
  expect(results).toEqual(["200 ", "200 ", "200 ", "200 x"]);
  const heads = lines?.map((line) => line.split("\n")[0]).sort();
  expect(heads).toEqual([
    "Uncaught: Error: in a listener",
    "Uncaught: Error: in a microtask",
    "Uncaught: Error: in a timer",
    "Uncaught: Error: onabort",
  ]);
  expect(report).toMatch(NOTHING_FOUND);
});
