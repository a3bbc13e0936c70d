// What is in packaging/: the script that installs, the unit of the service, the configuration to start from.
import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "../../cli/config.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const PACKAGING = new URL("../../packaging/", import.meta.url).pathname;
const UNIT = readFileSync(join(PACKAGING, "atoll.service"), "utf8");

function install(...args: readonly string[]): { code: number; stdout: string; stderr: string } {
  const { exitCode, stdout, stderr } = Bun.spawnSync(["sh", join(PACKAGING, "install.sh"), ...args]);
  return { code: exitCode, stdout: stdout.toString(), stderr: stderr.toString() };
}

/** A file that stands for the binary: the script looks at nothing in it. */
function standIn(directory: string, text = "#!/bin/sh\necho atoll\n"): string {
  const path = join(directory, "some-binary");
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  return path;
}

function tree(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: "utf8" }).sort();
}

const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8);
const setting = (unit: string, key: string): string | undefined =>
  [...unit.matchAll(/^(\w+)=(.*)$/gm)].find((match) => match[1] === key)?.[2];

describe("the install script", () => {
  test("puts the binary, the unit, the configuration and the data directory in place, twice as well as once", () => {
    using directory = temporaryDirectory();
    const root = join(directory.path, "root");
    const args = ["--binary", standIn(directory.path), "--root", root];
    expect(install(...args)).toMatchObject({ code: 0, stderr: "" });
    const config = join(root, "etc/atoll/atoll.host.json");
    expect(mode(join(root, "usr/local/bin/atoll"))).toBe("755");
    expect(mode(join(root, "var/lib/atoll"))).toBe("700");
    expect(mode(config)).toBe("640");
    expect(readFileSync(join(root, "etc/systemd/system/atoll.service"), "utf8")).toBe(UNIT);

    const before = tree(root);
    writeFileSync(config, '{ "drainSeconds": 5 }');
    standIn(directory.path, "a newer one");
    expect(install(...args)).toMatchObject({ code: 0, stderr: "" });
    expect(tree(root)).toEqual(before);
    expect(readFileSync(config, "utf8")).toBe('{ "drainSeconds": 5 }');
    expect(readFileSync(join(root, "usr/local/bin/atoll"), "utf8")).toBe("a newer one");
  });

  test("writes other places and users into the unit", () => {
    using directory = temporaryDirectory();
    const root = join(directory.path, "root");
    const places = ["--prefix", "/opt/atoll", "--data", "/srv/atoll", "--user", "workers"];
    expect(install("--binary", standIn(directory.path), "--root", root, ...places)).toMatchObject({ code: 0 });
    const unit = readFileSync(join(root, "etc/systemd/system/atoll.service"), "utf8");
    expect(setting(unit, "ExecStart")).toStartWith("/opt/atoll/bin/atoll serve ");
    expect(setting(unit, "ExecStart")).toEndWith(" --data /srv/atoll");
    expect([setting(unit, "User"), setting(unit, "ReadWritePaths")]).toEqual(["workers", "/srv/atoll"]);
    expect(setting(unit, "StateDirectory")).toBeUndefined();
  });

  test("with --prefix and --no-service it is the binary alone, and goes away again", () => {
    using directory = temporaryDirectory();
    const prefix = join(directory.path, "prefix");
    const args = ["--prefix", prefix, "--no-service"];
    expect(install(...args, "--binary", standIn(directory.path))).toMatchObject({ code: 0, stderr: "" });
    expect(tree(prefix)).toEqual(["bin", "bin/atoll"]);
    expect(Bun.spawnSync([join(prefix, "bin/atoll")]).stdout.toString()).toBe("atoll\n");
    expect(install("uninstall", ...args)).toMatchObject({ code: 0, stderr: "" });
    expect(tree(prefix)).toEqual(["bin"]);
    expect(install("uninstall", ...args)).toMatchObject({ code: 0, stderr: "" });
  });

  test("with --dry-run it changes nothing, and names every change", () => {
    using directory = temporaryDirectory();
    const binary = standIn(directory.path);
    const root = join(directory.path, "root");
    const { code, stdout } = install("--dry-run", "--binary", binary, "--root", root);
    expect(code).toBe(0);
    expect(existsSync(root)).toBe(false);
    for (const path of ["usr/local/bin/atoll", "var/lib/atoll", "etc/atoll/atoll.host.json", "atoll.service"]) {
      expect(stdout).toContain(path);
    }
    install("--binary", binary, "--root", root);
    const before = tree(root);
    expect(install("uninstall", "--purge", "--dry-run", "--root", root).stdout).toContain("would run: rm");
    expect(tree(root)).toEqual(before);
  });

  test("uninstall keeps data and configuration; --purge takes them, but no directory that is not Atoll's", () => {
    using directory = temporaryDirectory();
    const root = join(directory.path, "root");
    const args = ["--binary", standIn(directory.path), "--root", root];
    const data = join(root, "var/lib/atoll");
    install(...args);
    writeFileSync(join(data, "control.sqlite"), "rows");
    expect(install("uninstall", "--root", root)).toMatchObject({ code: 0, stderr: "" });
    expect(existsSync(join(root, "usr/local/bin/atoll"))).toBe(false);
    expect(existsSync(join(root, "etc/systemd/system/atoll.service"))).toBe(false);
    expect(existsSync(join(data, "control.sqlite"))).toBe(true);

    mkdirSync(join(root, "home"));
    writeFileSync(join(root, "home/letter"), "dear");
    expect(install("uninstall", "--purge", "--root", root, "--data", "/home").code).toBe(1);
    expect(existsSync(join(root, "home/letter"))).toBe(true);
    expect(install("uninstall", "--purge", "--root", root)).toMatchObject({ code: 0, stderr: "" });
    expect(existsSync(data)).toBe(false);
    expect(existsSync(join(root, "etc/atoll"))).toBe(false);
  });

  test.each([
    [["--prefix", "relative"], 1, "absolute path"],
    [["--data", "/srv/a b"], 1, "letters, digits"],
    [["--data", "/srv/../etc"], 1, "letters, digits"],
    [["--user", "root"], 1, "must not run as root"],
    [["--user", "a;b"], 1, "no user name"],
    [["--binary", "/nowhere/atoll"], 1, "there is no file"],
    [["--frob"], 2, "unknown argument --frob"],
    [["--prefix"], 2, "needs a value"],
  ])("refuses %j before it changes anything", (args, code, words) => {
    using directory = temporaryDirectory();
    const root = join(directory.path, "root");
    const refused = install("--root", root, ...args);
    expect(refused.code).toBe(code);
    expect(refused.stderr).toContain(words);
    expect(existsSync(root)).toBe(false);
  });
});

describe("the unit", () => {
  test("gives the node time to drain, and the files that it needs", async () => {
    const config = await loadConfig({
      flags: { config: join(PACKAGING, "atoll.host.json") },
      env: {},
      cwd: PACKAGING,
    });
    expect(Number(setting(UNIT, "TimeoutStopSec"))).toBeGreaterThan(config.drainSeconds);
    expect(Number(setting(UNIT, "LimitNOFILE"))).toBeGreaterThanOrEqual(65_536);
  });

  test("keeps the walls that a Worker would have to break after its own", () => {
    const walls = {
      NoNewPrivileges: "yes",
      CapabilityBoundingSet: "",
      ProtectSystem: "strict",
      ProtectHome: "yes",
      PrivateTmp: "yes",
      PrivateDevices: "yes",
      StateDirectoryMode: "0700",
      UMask: "0077",
      Restart: "on-failure",
      User: "atoll",
    };
    for (const [key, value] of Object.entries(walls)) expect([key, setting(UNIT, key)]).toEqual([key, value]);
  });
});
