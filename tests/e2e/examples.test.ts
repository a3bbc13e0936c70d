// The examples as their READMEs say: deployed by the commands to a real node, and asked over HTTP.
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { type Finished, atoll, NodeProcess } from "../support/node-process.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const EXAMPLES = new URL("../../examples/", import.meta.url).pathname;

interface Deployed {
  readonly hostname: string | null;
  readonly versionUid: string;
  readonly weights: Readonly<Record<string, number>>;
  readonly changed: boolean;
}

class Examples {
  readonly node: NodeProcess;

  constructor(node: NodeProcess) {
    this.node = node;
  }

  run(command: string, example: string, ...more: string[]): Promise<Finished> {
    return atoll([command, "--project", join(EXAMPLES, example), "--data", this.node.data, ...more]);
  }

  async deploy(example: string, ...more: string[]): Promise<Deployed> {
    const { code, stdout, stderr } = await this.run("deploy", example, "--json", ...more);
    if (code !== 0) throw new Error(stderr);
    return JSON.parse(stdout) as Deployed;
  }

  async ask({ hostname }: Deployed, path: string): Promise<string> {
    const response = await fetch(this.node.ready.http + path, { headers: { host: hostname ?? "" } });
    return await response.text();
  }
}

describe("examples", () => {
  test("hello", async () => {
    using directory = temporaryDirectory();
    await using node = await NodeProcess.start(directory.path);
    const examples = new Examples(node);
    const hello = await examples.deploy("hello");
    expect(await examples.ask(hello, "/?name=Ada")).toStartWith("Hello, Ada!");
  }, 30_000);

  test("router: two Workers bound together, a second Version for a tenth of the traffic, and the way back to nothing", async () => {
    using directory = temporaryDirectory();
    await using node = await NodeProcess.start(directory.path);
    const examples = new Examples(node);
    const early = await examples.run("deploy", "router/front", "--json");
    expect(early.code).toBe(1);
    expect(early.stderr).toContain("needs the Worker greeter");
    const greeter = await examples.deploy("router/greeter");
    expect(greeter.hostname).toBeNull();
    const front = await examples.deploy("router/front");
    expect(JSON.parse(await examples.ask(front, "/greet/Ada"))).toEqual({ greeting: "Hello, Ada!", words: "Hello" });

    const change = ["--var", "WORDS=Welcome", "--weight", "10"];
    const diff = await examples.run("diff", "router/greeter", ...change, "--exit-code");
    expect(diff.code).toBe(3);
    expect(diff.stdout).toContain('vars.WORDS: "Hello" → "Welcome"');
    expect(diff.stdout).toContain("the new version 10 %");
    const second = await examples.deploy("router/greeter", ...change);
    expect(second.weights).toEqual({ [second.versionUid]: 1_000, [greeter.versionUid]: 9_000 });
    expect((await examples.run("diff", "router/greeter", ...change, "--exit-code")).code).toBe(0);

    const counts: Record<string, number> = { Hello: 0, Welcome: 0 };
    for (let i = 0; i < 600; i++) {
      const { words } = JSON.parse(await examples.ask(front, "/greet/Ada")) as { words: string };
      counts[words] = (counts[words] ?? 0) + 1;
    }
    // A fair draw of 600 with one in ten is outside of 20 … 120 less often than once in a million runs.
    expect(counts["Hello"]! + counts["Welcome"]!).toBe(600);
    expect(counts["Welcome"]).toBeGreaterThan(20);
    expect(counts["Welcome"]).toBeLessThan(120);

    const asked = await examples.run("destroy", "router/front");
    expect(asked).toMatchObject({ code: 2, stderr: expect.stringContaining("say --yes") });
    expect((await examples.run("destroy", "router/greeter", "--yes")).stderr).toContain("greeter is needed by");
    for (const example of ["router/front", "router/greeter"]) {
      expect(await examples.run("destroy", example, "--yes")).toMatchObject({ code: 0 });
    }
    const left = await atoll(["resources", "list", "--data", node.data, "--json"]);
    expect(JSON.parse(left.stdout)).toEqual({ items: [] });
  }, 60_000);

  test("a project made by init deploys as it is", async () => {
    using directory = temporaryDirectory();
    const place = join(directory.path, "fresh");
    const made = await atoll(["init", place, "--yes", "--json"]);
    expect(made.code).toBe(0);
    const again = await atoll(["init", place, "--yes", "--json"]);
    expect(JSON.parse(again.stdout)).toMatchObject({ made: [] });
    const own = Bun.spawnSync([process.execPath, "test"], { cwd: place, stderr: "pipe" });
    expect(own.stderr.toString()).toContain("2 pass");
    const types = Bun.spawnSync([join(EXAMPLES, "../node_modules/.bin/tsc"), "-p", place]);
    expect(types.stdout.toString()).toBe("");

    await Bun.write(join(place, "src/worker.ts"), "mine");
    const refused = await atoll(["init", place, "--yes"]);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("src/worker.ts is there already") });
    expect(await Bun.file(join(place, "src/worker.ts")).text()).toBe("mine");
  }, 30_000);
});
