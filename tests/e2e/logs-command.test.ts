// `atoll logs` against a real node, through its death and back.
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { startAtoll, type TestWorker } from "@atoll/testing";
import { atoll as command } from "../support/node-process.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

const SOURCE = `export default {
  fetch(request) {
    const { pathname } = new URL(request.url);
    console.log("asked for", pathname);
    if (pathname === "/boom") throw new Error("boom \\u001b[2J");
    return new Response("ok");
  },
};`;

const ask = async (worker: TestWorker, path: string): Promise<number> => (await worker.fetch(path)).status;

describe("atoll logs", () => {
  test("prints what is kept: lines for people, JSON for programs, filtered", async () => {
    using directory = temporaryDirectory();
    await using node = await startAtoll({ data: directory.path });
    const worker = await node.deploy({ name: "hello", source: SOURCE });
    expect([await ask(worker, "/a?q=secret"), await ask(worker, "/boom")]).toEqual([200, 500]);
    const logs = (...args: string[]) => command(["logs", ...args, "--data", directory.path]);

    const people = (await logs("hello")).stdout;
    expect(people).toMatch(/^\d\d:\d\d:\d\d\.\d{3} hello info  asked for \/a$/m);
    expect(people).toMatch(/^\d\d:\d\d:\d\d\.\d{3} hello GET \/a 200 \d+(\.\d)? ms$/m);
    expect(people).toMatch(/GET \/boom 500 [\d.]+ ms exception$/m);
    expect(people).not.toContain("secret");
    // A tenant's text cannot clear the terminal.
    expect(people).toContain("boom \\u001b[2J");

    const errors = (await logs("--json", "--level", "error", "--kind", "error")).stdout.trimEnd().split("\n");
    expect(errors.map((line) => JSON.parse(line) as unknown)).toMatchObject([{ kind: "error", worker: "hello" }]);
    expect((await logs("nobody")).stdout).toBe("");
    const refused = await logs("--space", "nowhere", "--json");
    expect([refused.code, refused.stdout]).toEqual([1, ""]);
    expect(refused.stderr).toContain("not_found");
  }, 60_000);

  test("--follow goes on after the node was killed, and says that something may be missing", async () => {
    using directory = temporaryDirectory();
    await using node = await startAtoll({ data: directory.path });
    const worker = await node.deploy({ name: "hello", source: SOURCE });
    await ask(worker, "/before");
    const child = Bun.spawn(
      [join(ROOT, "bin/atoll"), "logs", "--follow", "--kind", "request", "--json", "--data", directory.path],
      { stdin: "ignore", stdout: "pipe", stderr: "pipe" },
    );
    const lines = linesOf(child.stdout);
    const next = async (): Promise<unknown> => JSON.parse((await lines.next()).value ?? "null");
    try {
      expect(await next()).toMatchObject({ path: "/before" });
      await ask(worker, "/live");
      expect(await next()).toMatchObject({ path: "/live" });
      await node.crash();
      await ask(worker, "/again");
      expect(await next()).toEqual({ kind: "gap", reason: "the node was started again" });
      expect(await next()).toMatchObject({ path: "/again" });
    } finally {
      child.kill("SIGKILL");
    }
    expect(await new Response(child.stderr).text()).toContain("the connection is lost");
  }, 60_000);
});

async function* linesOf(stream: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string, void> {
  let text = "";
  for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (text + chunk).split("\n");
    text = lines.pop() ?? "";
    yield* lines;
  }
}
