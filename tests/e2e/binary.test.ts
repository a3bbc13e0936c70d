// The binary as somebody gets it: one file on a machine that has no checkout, no packages and no environment of ours.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { buildBinary } from "../../scripts/build.ts";
import { sha256Hex } from "../../cli/deploy/sha256-hex.ts";
import { atoll, NodeProcess, type Program } from "../support/node-process.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const COMMIT = "0123456789ab";
const machine = temporaryDirectory();
const binary = join(machine.path, "bin/atoll");
const home = join(machine.path, "home");
/** Not even a PATH: the binary starts nothing but itself. */
const installed: Program = { command: [binary], cwd: home, env: {} };

beforeAll(async () => {
  await mkdir(join(machine.path, "bin"));
  await mkdir(home);
  await buildBinary({ outfile: binary, commit: COMMIT });
});
afterAll(() => machine[Symbol.dispose]());

async function write(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) await Bun.write(join(home, path), text);
}

interface Deployed {
  readonly hostname: string;
  readonly changed: boolean;
}

async function deploy(entry: string, ...args: readonly string[]): Promise<Deployed> {
  const finished = await atoll(["deploy", entry, "--data", "data", "--json", ...args], { program: installed });
  if (finished.code !== 0) throw new Error(finished.stderr);
  return JSON.parse(finished.stdout) as Deployed;
}

describe("the binary", () => {
  test("names its version and its commit", async () => {
    const { code, stdout } = await atoll(["--version"], { program: installed });
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${packageJson.version} (commit ${COMMIT})\n` });
  });

  test("has the same bytes when it is built again elsewhere, and none of them names the machine", async () => {
    const again = join(home, "again");
    await buildBinary({ outfile: again, commit: COMMIT });
    const [first, second] = await Promise.all([binary, again].map((path) => Bun.file(path).bytes()));
    expect(sha256Hex(second as Uint8Array)).toBe(sha256Hex(first as Uint8Array));
    const checkout = new URL("../../", import.meta.url).pathname;
    expect(Buffer.from(first as Uint8Array).includes(checkout)).toBe(false);
  });

  test("takes no settings from the directory that it happens to be started in", async () => {
    await write({ "trap/.env": "ATOLL_DATA=elsewhere\n", "trap/bunfig.toml": 'preload = ["./trap.ts"]\n' });
    await write({ "trap/trap.ts": "process.exit(66);" });
    const program = { ...installed, cwd: join(home, "trap") };
    const { code, stdout } = await atoll(["config", "check"], { program });
    expect(code).toBe(0);
    expect(stdout).toContain(".atoll/data");
  });

  test("serves what it deployed, after kill -9 too", async () => {
    await write({
      "shop/tsconfig.json": JSON.stringify({ compilerOptions: { paths: { "@lib/*": ["./lib/*"] } } }),
      "shop/lib/price.ts": "export const price = (cents: number): string => (cents / 100).toFixed(2);",
      "shop/node_modules/greeting/package.json": JSON.stringify({
        name: "greeting",
        type: "module",
        exports: { browser: "./browser.js", default: "./other.js" },
      }),
      "shop/node_modules/greeting/browser.js": 'export const greeting = "Good day";',
      "shop/node_modules/greeting/other.js": 'export const greeting = "wrong build";',
      "shop/note.txt": "no refunds",
      "shop/main.ts": `
        import { greeting } from "greeting";
        import { price } from "@lib/price.ts";
        import note from "./note.txt";
        interface Env { readonly CITY: string }
        export default {
          async fetch(request: Request, env: Env): Promise<Response> {
            const digest = await crypto.subtle.digest("SHA-256", await request.arrayBuffer());
            return Response.json([greeting, price(1250), note, env.CITY, digest.byteLength]);
          },
        };`,
    });
    const answer = async (origin: string, host: string): Promise<unknown> => {
      const response = await fetch(origin, { method: "POST", body: "order", headers: { host } });
      return response.status === 200 ? await response.json() : await response.text();
    };
    const expected = ["Good day", "12.50", "no refunds", "Bern", 32];

    await using first = await NodeProcess.start("data", {}, installed);
    const { hostname } = await deploy("shop/main.ts", "--name", "shop", "--var", "CITY=Bern");
    expect(await answer(first.ready.http, hostname)).toEqual(expected);
    const ca = await Bun.file(join(home, "data/tls/ca.pem")).text();
    const secure = await fetch(first.ready.https, { method: "POST", headers: { host: hostname }, tls: { ca } });
    expect(secure.status).toBe(200);

    await first.kill();
    await using second = await first.again();
    expect(await answer(second.ready.http, hostname)).toEqual(expected);
    expect(await deploy("shop/main.ts", "--name", "shop", "--var", "CITY=Bern")).toMatchObject({ changed: false });
    expect(await second.stop()).toBe(0);
  });

  test("makes tokens and lists Resources of a node that runs", async () => {
    await using _node = await NodeProcess.start("data", {}, installed);
    const flags = ["--data", "data", "--json"];
    const token = await atoll(["token", "create", "--principal", "ci", "--space", "default", ...flags], {
      program: installed,
    });
    expect(JSON.parse(token.stdout)).toMatchObject({ principal: "ci", spaces: ["default"] });
    const resources = await atoll(["resources", "list", ...flags], { program: installed });
    expect(resources.stdout).toContain("shop");
  });

  test("looks at the machine with a process of its own", async () => {
    const ports = ["--listen", "127.0.0.1:0", "--tls-listen", "127.0.0.1:0"];
    const { stdout } = await atoll(["doctor", "--data", "data", ...ports], { program: installed });
    expect(stdout).toMatch(/^ok +kill-survival +all [1-9]\d* writes/m);
  });

  test("says in words what is wrong with a Worker, with its place in the TypeScript", async () => {
    await write({ "broken.ts": "export default {\n  fetch(: Request) {}\n};\n" });
    const { code, stderr } = await atoll(["deploy", "broken.ts", "--data", "data"], { program: installed });
    expect(code).toBe(1);
    expect(stderr).toContain("broken.ts:2:9");
  });
});
