// The testing package as an author uses it.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startAtoll, type TestAtoll } from "@atoll/testing";
import { rejection } from "../support/rejection.ts";

describe("a node with a virtual clock", () => {
  let atoll: TestAtoll;
  beforeAll(async () => {
    atoll = await startAtoll({ clock: "virtual" });
  });
  afterAll(() => atoll.stop());

  test("a Worker from source, with vars, a secret and a service, answers paths, URLs and Requests", async () => {
    const greeter = await atoll.deploy({
      source:
        "export default { fetch: (request: Request) => new Response(`hello from ${new URL(request.url).pathname}`) };",
    });
    const front = await atoll.deploy({
      files: {
        "main.ts": `import { shout } from "./lib/shout.ts";
          export default {
            async fetch(request, env) {
              const hello = await env.GREETER.fetch("https://greeter/" + env.WHERE);
              return new Response([shout(await hello.text()), env.TOKEN.length, request.method, await request.text(), new URL(request.url).search].join("|"));
            },
          };`,
        "lib/shout.ts": "export const shout = (text: string): string => text.toUpperCase();",
      },
      vars: { WHERE: "there" },
      secrets: { TOKEN: "seven77" },
      services: { GREETER: greeter },
    });
    const asked = await front.fetch("/?a=1", { method: "POST", body: "body" });
    expect(await asked.text()).toBe("HELLO FROM /THERE|7|POST|body|?a=1");
    const byRequest = await front.fetch(new Request(`${front.url}x?b=2`, { method: "PUT", body: "more" }));
    expect(await byRequest.text()).toBe("HELLO FROM /THERE|7|PUT|more|?b=2");
    expect(await (await greeter.fetch(new URL("/deep/path", front.url ?? ""))).text()).toBe("hello from /deep/path");
  });

  test("time moves when told to, by durations and milliseconds, and stands still otherwise", async () => {
    const before = atoll.now().getTime();
    expect((await atoll.advance("2h")).getTime() - before).toBe(7_200_000);
    expect((await atoll.advance(1_500)).getTime() - before).toBe(7_201_500);
    expect(atoll.now().getTime() - before).toBe(7_201_500);
    expect((await rejection(atoll.advance("two hours"))).message).toContain('write "90s", "2h" or "1d12h"');
    expect((await rejection(atoll.advance(-1))).message).toContain("moves forward");
  });

  test("logs show what a Worker printed, threw and answered, by Worker and kind", async () => {
    const loud = await atoll.deploy({
      name: "loud",
      source: `export default { fetch(request) {
        console.log("asked", 1);
        if (request.url.endsWith("/boom")) throw new TypeError("no");
        return new Response("ok");
      } };`,
    });
    await loud.fetch("/fine?q=secret");
    expect((await loud.fetch("/boom")).status).toBe(500);
    const lines = await atoll.logs({ worker: "loud" });
    expect(lines.map(({ kind, level }) => `${kind} ${level}`).sort()).toEqual([
      "console info",
      "console info",
      "error error",
      "request error",
      "request info",
    ]);
    expect(lines.find((line) => line.kind === "error")?.message).toStartWith("fetch handler failed: TypeError: no");
    expect(await atoll.logs({ worker: "loud", kind: "request" })).toMatchObject([
      { method: "GET", path: "/fine", status: 200, outcome: "ok" },
      { method: "GET", path: "/boom", status: 500, outcome: "exception" },
    ]);
    expect(lines.every(({ time }) => Date.parse(time) === atoll.now().getTime())).toBe(true);
  });

  test("a deployment that cannot be says why and where", async () => {
    expect((await rejection(atoll.deploy({ source: "export default {" }))).message).toMatch(/^worker\.ts:1:\d+: /);
    expect((await rejection(atoll.deploy({ source: "throw new Error('at start')" }))).message).toContain(
      "does not load",
    );
    expect((await rejection(atoll.deploy({}))).message).toContain("exactly one of source, entry and files");
    expect(
      (await rejection(atoll.deploy({ source: "export default {}", services: { X: "nobody" } }))).message,
    ).toContain("needs the Worker nobody");
  });

  test("an evicted Worker starts afresh", async () => {
    const counter = await atoll.deploy({
      source: "let count = 0; export default { fetch: () => new Response(String(++count)) };",
    });
    const ask = async (): Promise<string> => (await counter.fetch()).text();
    expect([await ask(), await ask()]).toEqual(["1", "2"]);
    await atoll.evict(counter);
    expect(await ask()).toBe("1");
  });

  test("a crash takes the process, not what was deployed, and time does not go back", async () => {
    const worker = await atoll.deploy({
      source: "let count = 0; export default { fetch: () => new Response(String(++count)) };",
    });
    expect(await (await worker.fetch()).text()).toBe("1");
    const before = atoll.now();
    await atoll.crash();
    expect(await (await worker.fetch()).text()).toBe("1");
    expect(await atoll.advance(0)).toEqual(before);
  });
});

test("a node inside the test's process answers too, and says what it cannot do", async () => {
  await using atoll = await startAtoll({ isolated: false });
  const worker = await atoll.deploy({ entry: new URL("../../examples/hello/worker.ts", import.meta.url) });
  expect(await (await worker.fetch("/?name=Ada")).text()).toStartWith("Hello, Ada!");
  expect((await rejection(atoll.crash())).message).toContain("isolated: true");
  expect((await rejection(atoll.advance("1s"))).message).toContain('clock: "virtual"');
});
