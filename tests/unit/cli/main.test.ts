import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import packageJson from "../../../package.json" with { type: "json" };
import { atoll } from "../../support/node-process.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

describe("the atoll command", () => {
  test("help names every command, and every command has help of its own", async () => {
    const { code, stdout } = await atoll(["--help"]);
    expect(code).toBe(0);
    for (const name of ["serve", "deploy", "resources", "operations", "space", "token", "config"]) {
      expect(stdout).toMatch(new RegExp(`^  ${name}\\b`, "m"));
      const own = await atoll([name, "--help"]);
      expect(own.code).toBe(0);
      expect(own.stdout).toStartWith(`Usage: atoll ${name}`);
    }
  });

  /** With the commit, where there is one to name. */
  const version = new RegExp(`^${packageJson.version.replaceAll(".", "\\.")}( \\(commit [0-9a-f]+(-dirty)?\\))?\n$`);

  test("the version is that of package.json", async () => {
    const { code, stdout, stderr } = await atoll(["--version"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(version);
  });

  test("it runs from any directory, and through a link", async () => {
    using directory = temporaryDirectory();
    const link = join(directory.path, "atoll");
    expect(Bun.spawnSync(["ln", "-s", join(import.meta.dir, "../../../bin/atoll"), link]).exitCode).toBe(0);
    expect(Bun.spawnSync([link, "--version"], { cwd: directory.path }).stdout.toString()).toMatch(version);
  });

  test("misuse is exit code 2 and one plain line; with --json it is an object", async () => {
    const cases: [string[], string][] = [
      [["nonsense"], "unknown command 'nonsense'"],
      [["token", "creat"], "did you mean create?"],
      [["token", "create", "--space", "a"], "--principal"],
      [["deploy"], "there is no atoll.json"],
      [["deploy", "x.ts", "--name", "no good"], "is no name for a Worker"],
      [["deploy", "x.ts", "--var", "=1"], "NAME=value"],
      [["resources", "list", "--form", "ModuleWorkr"], "did you mean ModuleWorker?"],
      [["resources", "list", "--url", "http://a.example", "--token-file", "t"], "in the clear"],
      [["config", "check", "--listen", "8080"], "--listen must be"],
      [["serve", "--listen", "8080"], "--listen must be"],
    ];
    for (const [args, words] of cases) {
      const plain = await atoll(args);
      expect(plain).toMatchObject({ code: 2, stdout: "" });
      expect(plain.stderr).toMatch(/^atoll: [^\n]+\n$/);
      expect(plain.stderr).toContain(words);
    }
    const json = await atoll(["deploy", "--json"]);
    expect(json.code).toBe(2);
    expect(JSON.parse(json.stderr)).toMatchObject({ error: { code: "usage" } });
  }, 30_000);

  test("failure is exit code 1, and says what to do next", async () => {
    using directory = temporaryDirectory();
    const plain = await atoll(["resources", "list", "--data", directory.path]);
    expect(plain).toMatchObject({ code: 1, stdout: "" });
    expect(plain.stderr).toMatch(/^atoll: no node has been started on .*; start one with 'atoll serve/);
    const json = await atoll(["resources", "list", "--data", directory.path, "--json"]);
    expect(json.code).toBe(1);
    expect(JSON.parse(json.stderr)).toMatchObject({ error: { code: "unreachable" } });
    const build = await atoll(["deploy", "no-such-file.ts"]);
    expect(build).toMatchObject({ code: 1, stdout: "" });
    expect(build.stderr).toContain("no-such-file.ts cannot be read");
  });

  test("config check shows what would be in force, without credentials", async () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, "host.json");
    const file = { artifacts: { allowOrigins: [{ origin: "https://a.example", authorization: "Bearer s3cr3t" }] } };
    await Bun.write(path, JSON.stringify(file));
    const { code, stdout } = await atoll(["config", "check", "--config", path, "--listen", "127.0.0.1:9"]);
    expect(code).toBe(0);
    expect(stdout).not.toContain("s3cr3t");
    expect(JSON.parse(stdout)).toMatchObject({
      listen: { port: 9 },
      artifacts: { allowOrigins: [{ origin: "https://a.example" }] },
    });
    expect(JSON.parse((await atoll(["config", "schema"])).stdout)).toMatchObject({ title: "Atoll host configuration" });
  });
});
