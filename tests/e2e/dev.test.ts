// The author's loop, driven as an author drives it: a real `atoll dev`, real saves, real requests.
import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DevProcess, writeWorker } from "../support/dev-process.ts";
import { atoll, NodeProcess } from "../support/node-process.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const ask = async (url: string, init: RequestInit = {}): Promise<string> => (await fetch(url, init)).text();

const leftBehind = (): Set<string> => new Set(readdirSync(tmpdir()).filter((name) => name.startsWith("atoll-dev-")));

describe("atoll dev", () => {
  test("one file is enough: it answers, a save changes the answer, an error is shown where it is, and its end is clean", async () => {
    using directory = temporaryDirectory();
    await writeWorker(directory.path, "one");
    const before = leftBehind();
    await using dev = new DevProcess(directory.path, ["worker.ts"]);
    const ready = await dev.next("ready");
    expect(ready.worker).toBe("worker");
    expect(await ask(ready.url)).toBe("one");
    // Whatever name the author reaches this machine by.
    expect(await ask(ready.url, { headers: { host: "shop.example:99" } })).toBe("one");
    expect(await dev.next("request")).toMatchObject({ method: "GET", path: "/", status: 200, worker: "worker" });

    await writeWorker(directory.path, "two", '    console.warn("asked for", new URL(request.url).pathname);\n');
    await dev.next("reloaded");
    expect(await ask(`${ready.url}page?q=1`)).toBe("two");
    expect(await dev.next("console")).toMatchObject({ level: "warn", message: "asked for /page" });

    await writeWorker(directory.path, "three", "    const broken = ;\n");
    const failed = await dev.next("build_failed");
    expect(failed).toMatchObject({ place: { file: "worker.ts", line: 3 } });
    expect(failed.message).toStartWith("worker.ts:3:");
    expect(failed.frame).toContain("> 3 |     const broken = ;");
    // What was good before goes on.
    expect(await ask(ready.url)).toBe("two");

    await writeWorker(directory.path, "four");
    await dev.next("reloaded");
    expect(await ask(ready.url)).toBe("four");
    expect(await dev.interrupt()).toBe(0);
    expect(dev.stderr).toBe("");
    expect(leftBehind()).toEqual(before);
  }, 60_000);

  test("what a handler throws is shown in the author's source, and its client is told nothing", async () => {
    using directory = temporaryDirectory();
    await Bun.write(
      join(directory.path, "lib/fail.ts"),
      "interface Reason {\n  readonly word: string;\n}\n\nexport function fail({ word }: Reason): never {\n  throw new Error(word);\n}\n",
    );
    await Bun.write(
      join(directory.path, "worker.ts"),
      'import { fail } from "./lib/fail.ts";\nexport default { fetch(): Response { fail({ word: "secret reason" }); } };\n',
    );
    await using dev = new DevProcess(directory.path, ["worker.ts"]);
    const { url } = await dev.next("ready");
    const response = await fetch(url);
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("secret reason");
    const error = await dev.next("error");
    expect(error).toMatchObject({ place: { file: "lib/fail.ts", line: 6 } });
    expect(error.message).toContain("Error: secret reason");
    expect(error.message).toContain("at fail (lib/fail.ts:6:");
    expect(error.frame).toContain("> 6 |   throw new Error(word);");

    // An imported module is watched like the entry.
    await Bun.write(
      join(directory.path, "lib/fail.ts"),
      'export const fail = (_: unknown): never => { throw "other"; };\n',
    );
    await dev.next("reloaded");
  }, 60_000);

  test("a start that fails answers with the reason; an import that appears and a fault while loading are told, too", async () => {
    using directory = temporaryDirectory();
    await Bun.write(
      join(directory.path, "worker.ts"),
      'import { word } from "./words/word.ts";\nexport default { fetch: () => new Response(word) };\n',
    );
    await using dev = new DevProcess(directory.path, ["worker.ts"]);
    const missing = await dev.next("build_failed");
    expect(missing.message).toContain("words/word.ts");
    await Bun.write(join(directory.path, "words/word.ts"), 'export const word: string = "found";\n');
    const { url } = await dev.next("ready");
    expect(await ask(url)).toBe("found");
    await Bun.write(
      join(directory.path, "words/word.ts"),
      'export const word: string = "x";\nthrow new Error("too early");\n',
    );
    const loading = await dev.next("build_failed");
    expect(loading).toMatchObject({ place: { file: "words/word.ts", line: 2 } });
    expect(loading.message).toContain("too early");
    expect(await ask(url)).toBe("found");
  }, 60_000);

  test("a project's variables, secrets and handlers are live; old Versions do not pile up; stored state stays with --persist", async () => {
    using directory = temporaryDirectory();
    const project = { name: "shop", main: "worker.ts", vars: { GREETING: "hi" }, secrets: ["TOKEN"] };
    await Bun.write(join(directory.path, "atoll.json"), JSON.stringify(project));
    await Bun.write(join(directory.path, "secrets.env"), "TOKEN=t1\n");
    const source = "export default { fetch: (_: Request, env: Record<string, string>) => Response.json(env) };\n";
    await Bun.write(join(directory.path, "worker.ts"), source);
    await using dev = new DevProcess(directory.path, ["--persist", "--secrets-file", "secrets.env"]);
    const { url } = await dev.next("ready");
    expect(JSON.parse(await ask(url))).toEqual({ GREETING: "hi", TOKEN: "t1" });
    await Bun.write(join(directory.path, "secrets.env"), "TOKEN=t2\n");
    await dev.next("reloaded");
    expect(JSON.parse(await ask(url))).toEqual({ GREETING: "hi", TOKEN: "t2" });
    for (const greeting of ["a", "b", "c", "d", "e"]) {
      await Bun.write(join(directory.path, "atoll.json"), JSON.stringify({ ...project, vars: { GREETING: greeting } }));
      await dev.next("reloaded");
    }
    expect(JSON.parse(await ask(url))).toEqual({ GREETING: "e", TOKEN: "t2" });
    await Bun.write(join(directory.path, "atoll.json"), JSON.stringify({ ...project, vrs: {} }));
    expect((await dev.next("build_failed")).message).toContain("unknown key vrs; did you mean vars?");
    expect(await dev.interrupt()).toBe(0);

    // The same data under an ordinary node: one Version in use, and the two before it.
    const data = join(directory.path, ".atoll/dev");
    await using node = await NodeProcess.start(data);
    const listed = JSON.parse((await atoll(["resources", "list", "--data", data, "--json"])).stdout) as {
      items: { name: string }[];
    };
    const count = (pattern: RegExp): number => listed.items.filter(({ name }) => pattern.test(name)).length;
    expect([count(/^shop-v-/), count(/^shop-b-/)]).toEqual([3, 1]);
    expect(await node.stop()).toBe(0);

    await Bun.write(join(directory.path, "atoll.json"), JSON.stringify({ ...project, vars: { GREETING: "e" } }));
    await using again = new DevProcess(directory.path, ["--persist"], { TOKEN: "t2" });
    const second = await again.next("ready");
    expect(JSON.parse(await ask(second.url))).toEqual({ GREETING: "e", TOKEN: "t2" });
  }, 60_000);

  test("Workers bound to each other run side by side, each under its own name", async () => {
    await using dev = new DevProcess(new URL("../../examples/router/front", import.meta.url).pathname);
    const { url, worker } = await dev.next("ready");
    expect(worker).toBe("front");
    expect(JSON.parse(await ask(`${url}greet/Ada`))).toEqual({ greeting: "Hello, Ada!", words: "Hello" });
    const named = await ask(`${url}Ada`, { headers: { host: "greeter.localhost" } });
    expect(JSON.parse(named)).toMatchObject({ greeting: "Hello, Ada!" });
  }, 60_000);

  test("misuse is told in plain words", async () => {
    using directory = temporaryDirectory();
    expect(await atoll(["dev"], { cwd: directory.path })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("there is no atoll.json in this directory"),
    });
    expect(await atoll(["dev", "x.ts", "--port", "70000"], { cwd: directory.path })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("write a port from 0 to 65535"),
    });
    await writeWorker(directory.path, "one");
    using taken = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("taken") });
    expect(await atoll(["dev", "worker.ts", "--port", String(taken.port)], { cwd: directory.path })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("cannot be opened"),
    });
  }, 30_000);
});
