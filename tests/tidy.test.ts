// The rules of the house that a machine can check. Each fault names the file and says what to do instead.
import { describe, expect, test } from "bun:test";
import { Glob } from "bun";

const ROOT = new URL("../", import.meta.url).pathname;
const ROOMS = ["base", "sdk", "storage", "sandbox", "runtime", "cluster", "control", "api", "cli", "packages"] as const;
/** A file imports from its own rung and from lower ones. */
const RUNG: Readonly<Record<string, number>> = {
  base: 0,
  sdk: 0,
  storage: 1,
  sandbox: 2,
  runtime: 3,
  cluster: 4,
  control: 5,
  api: 6,
  cli: 7,
  packages: 8,
};

/** An outside thing with a price has few homes, so that changing it is one room's work. */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  "bun:sqlite": ["storage/"],
  "node:sqlite": ["storage/"],
  "drizzle-orm": ["storage/"],
  // The kernel's accounts of threads and processes under /proc are no disk.
  "node:fs": ["storage/", "cli/", "packages/", "sandbox/thread-main.ts", "sandbox/watchdogs/cpu-account.ts"],
  elysia: ["api/"],
  commander: ["cli/"],
  pino: ["cli/"],
};

/** Time and chance enter through ports; these adapters are their only makers. */
const TIME_AND_CHANCE = /\b(?:Date\.now|Math\.random|setTimeout|setInterval)\s*\(|\bnew Date\(\)/;
const ADAPTERS = ["base/clock.ts", "base/random.ts", "base/stepped-clock.ts"];
/** Runs inside tenant realms, where these names belong to the tenant. */
const IN_REALM = "sandbox/realm/";

const LINES_MAX = 500;
const LINES_LOOK = 300;

// Put together, so that this file does not find itself.
const word = (...parts: readonly string[]): string => parts.join("");
const BANNED: Readonly<Record<string, RegExp>> = {
  "finish it or leave it out": new RegExp(`\\b(?:${word("TO", "DO")}|${word("FIX", "ME")})\\b`),
  "say what the value really is": new RegExp(word("\\bas ", "any\\b")),
  "this path exists on one machine only": new RegExp(word("(?<![\\w.~@:-])/(?:home|Users|", "root|work)/[\\w.-]")),
};

interface Source {
  readonly path: string;
  readonly text: string;
  /** Without comments. */
  readonly code: string;
}

async function sources(pattern: string): Promise<Source[]> {
  const found: Source[] = [];
  for (const path of [...new Glob(pattern).scanSync({ cwd: ROOT })].sort()) {
    if (/(?:^|\/)(?:node_modules|dist|results)\//.test(path)) continue;
    found.push(source(path, await Bun.file(ROOT + path).text()));
  }
  return found;
}

/** Every module or file that a source names: import, export … from, import(), new URL(…, import.meta.url). */
function targets(source: Source): string[] {
  const statements =
    /(?:^|[\s;}])(?:import|export)\b[^;"'()]*?["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']|\bnew URL\(\s*["']([^"']+)["']/g;
  return [...source.code.matchAll(statements)].map((match) => match[1] ?? match[2] ?? match[3] ?? "");
}

function resolve(from: string, target: string): string {
  return new URL(target, `file:///${from}`).pathname.slice(1);
}

function source(path: string, text: string): Source {
  return { path, text, code: text.replace(/^\s*\/\*[\s\S]*?\*\/|^\s*\/\/.*$|\s\/\/ .*$/gm, "") };
}

const room = await sources(`{${ROOMS.join(",")}}/**/*.ts`);
const tests = await sources("tests/**/*.ts");
const scripts = await sources("{scripts,examples}/**/*.{ts,mjs,js}");
const documents = await sources("{*.md,docs/**/*.md,*.json,.ci/*,bin/*}");

describe("tidy", () => {
  test("the checks see what they look for", () => {
    const sample = source(
      "runtime/a.ts",
      [
        'import type { A } from "./a.ts";',
        "import {",
        "  b,",
        '} from "../b.ts";',
        'export * from "./c.ts";',
        'import "./d.ts";',
        'const e = await import("./e.ts");',
        'const f = new URL("./f.ts", import.meta.url);',
        '// import "./comment.ts";',
      ].join("\n"),
    );
    expect(targets(sample)).toEqual(["./a.ts", "../b.ts", "./c.ts", "./d.ts", "./e.ts", "./f.ts"]);
    for (const call of ["now = Date.now()", "setTimeout(f, 1)", "x = new Date()"])
      expect(TIME_AND_CHANCE.test(call)).toBe(true);
    for (const call of ["new Date(unixMs)", "clock.nowMs()", "mySetTimeout()"])
      expect(TIME_AND_CHANCE.test(call)).toBe(false);
    const banned = (text: string): number => Object.values(BANNED).filter((pattern) => pattern.test(text)).length;
    for (const text of [word("// TO", "DO: x"), word("x as ", "any"), word('"/ho', 'me/u/x"')])
      expect(banned(text)).toBe(1);
    expect(banned("as anything, /homepage, https://host/home/page")).toBe(0);
  });

  test("imports point down the ladder, and nothing imports the tests", () => {
    const faults: string[] = [];
    for (const source of room) {
      for (const target of targets(source)) {
        if (!target.startsWith(".")) continue;
        const path = resolve(source.path, target);
        const [from = "", to = ""] = [source.path, path].map((one) => one.split("/")[0] ?? "");
        const rung = RUNG[to];
        // The version in package.json is the only thing outside the rooms that a room may read.
        if (path === "package.json") continue;
        if (rung === undefined) faults.push(`${source.path} imports ${path}, which is no room of the ladder`);
        else if (rung > (RUNG[from] ?? -1)) faults.push(`${source.path} imports upwards: ${path}`);
      }
    }
    expect(faults).toEqual([]);
  });

  test("each outside library stays in its home", () => {
    const faults: string[] = [];
    for (const source of room) {
      for (const target of targets(source)) {
        for (const [library, homes] of Object.entries(HOMES)) {
          if (target !== library && !target.startsWith(`${library}/`)) continue;
          if (!homes.some((home) => source.path.startsWith(home))) {
            faults.push(`${source.path} imports ${target}; only ${homes.join(" and ")} may`);
          }
        }
      }
    }
    expect(faults).toEqual([]);
  });

  test("time and randomness come in through their ports", () => {
    const faults = room
      .filter((source) => !ADAPTERS.includes(source.path) && !source.path.startsWith(IN_REALM))
      .filter((source) => TIME_AND_CHANCE.test(source.code))
      .map((source) => `${source.path} takes time or chance from the platform; take a Clock or a Random instead`);
    expect(faults).toEqual([]);
  });

  test("no file has outgrown a reader", () => {
    const faults: string[] = [];
    for (const { path, text } of [...room, ...tests]) {
      const lines = text.split("\n").length - 1;
      if (lines > LINES_MAX) faults.push(`${path} has ${lines} lines; split it along its nouns`);
      else if (lines > LINES_LOOK && !path.startsWith("tests/")) console.warn(`tidy: ${path} has ${lines} lines`);
    }
    expect(faults).toEqual([]);
  });

  test("nothing unfinished, untyped or bound to one machine is left behind", () => {
    const faults: string[] = [];
    for (const { path, text } of [...room, ...tests, ...scripts, ...documents]) {
      if (path === "package-lock.json") continue;
      for (const [advice, pattern] of Object.entries(BANNED)) {
        const found = pattern.exec(text);
        if (found !== null) faults.push(`${path} says "${found[0].trim()}": ${advice}`);
      }
    }
    expect(faults).toEqual([]);
  });

  test("no source file is dead: something imports it, or it is a way in", () => {
    const used = new Set(["cli/main.ts", "packages/testing/testing.ts"]);
    for (const source of [...room, ...tests, ...scripts]) {
      for (const target of targets(source)) if (target.startsWith(".")) used.add(resolve(source.path, target));
    }
    const dead = room
      .map((source) => source.path)
      .filter((path) => !used.has(path) && !path.startsWith("sdk/") && !path.endsWith(".d.ts"));
    expect(dead).toEqual([]);
  });
});
