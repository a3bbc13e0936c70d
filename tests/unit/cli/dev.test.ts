// The parts of `atoll dev` that need no node.
import { describe, expect, test } from "bun:test";
import { mkdirSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import * as fc from "fast-check";
import { SystemClock } from "../../../base/clock.ts";
import { BuildCycle, type CycleEvent, nextCycle } from "../../../cli/dev/build-cycle.ts";
import { codeFrame } from "../../../cli/dev/code-frame.ts";
import { logEvent } from "../../../cli/dev/log-event.ts";
import { PeopleReporter } from "../../../cli/dev/people-reporter.ts";
import { projectsWith } from "../../../cli/dev/projects.ts";
import { SourcePositions } from "../../../cli/dev/source-positions.ts";
import { SourceWatcher } from "../../../cli/dev/source-watcher.ts";
import type { BuildError } from "../../../cli/deploy/build-error.ts";
import { withShare } from "../../../cli/deploy/distribution.ts";
import { buildWorkerFiles } from "../../../cli/deploy/worker-files.ts";
import { loadProject } from "../../../cli/project/project.ts";
import { rejection } from "../../support/rejection.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

const SOURCE = 'export default {\n  fetch(): Response {\n\tthrow new Error("boom");\n  },\n};\n';

describe("a code frame", () => {
  test("marks the place among the lines around it, also behind a tab", () => {
    expect(codeFrame({ source: SOURCE, line: 3, column: 2, length: 5 }, false)).toBe(
      [
        "  1 | export default {",
        "  2 |   fetch(): Response {",
        '> 3 |   throw new Error("boom");',
        "    |   ^^^^^",
        "  4 |   },",
        "  5 | };",
      ].join("\n"),
    );
  });

  test("a place outside of the source breaks nothing", () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.integer({ min: 1, max: 50 }),
        fc.integer({ min: 1, max: 500 }),
        (source, line, column) => {
          expect(typeof codeFrame({ source, line, column }, true)).toBe("string");
        },
      ),
    );
  });
});

describe("places", () => {
  test("of a stack in the bundle become places in the sources, with the line itself", async () => {
    using directory = temporaryDirectory();
    await Bun.write(
      join(directory.path, "lib/boom.ts"),
      'type T = 1;\n\nexport function boom(_: T): never {\n  throw new Error("boom");\n}\n',
    );
    const entry = join(directory.path, "worker.ts");
    await Bun.write(entry, 'import { boom } from "./lib/boom.ts";\nexport default { fetch: () => boom(1) };\n');
    const files = await buildWorkerFiles(entry);
    expect(files.inputs).toEqual([join(directory.path, "lib/boom.ts"), entry].sort());
    const code = new TextDecoder().decode(files.files[0]?.bytes);
    const before = code.slice(0, code.indexOf("new Error")).split("\n");
    const place = `worker:///worker.js:${before.length}:${(before.at(-1) ?? "").length + 1}`;
    const positions = new SourcePositions(files, directory.path, directory.path);
    const { text, first } = positions.map(`Error: boom\n    at boom (${place})\n    at x (worker:///other.js:1:1)`);
    expect(text).toBe("Error: boom\n    at boom (lib/boom.ts:4:9)\n    at x (worker:///other.js:1:1)");
    expect(first).toMatchObject({ file: "lib/boom.ts", line: 4, column: 9 });
    const entryOf = { kind: "error", worker: "w", level: "error", message: `Error: boom\n at ${place}` } as never;
    expect(logEvent(entryOf, positions, false)).toMatchObject({
      place: { file: "lib/boom.ts", line: 4 },
      frame: expect.stringContaining('> 4 |   throw new Error("boom");'),
    });
  });

  test("of a syntax error come with the line", async () => {
    using directory = temporaryDirectory();
    const entry = join(directory.path, "worker.ts");
    await Bun.write(entry, "export default {\n  fetch() { return new Response(; }\n};\n");
    const error = (await rejection(buildWorkerFiles(entry))) as BuildError;
    expect(error.place).toMatchObject({ file: entry, line: 2, lineText: "  fetch() { return new Response(; }" });
    expect(error.message).toBe(`worker.ts:2:${error.place?.column}: ${error.bare}`);
  });
});

describe("the build cycle", () => {
  test("a change during a build is followed by exactly one more build, and none after the end", async () => {
    const builds: PromiseWithResolvers<void>[] = [];
    const cycle = new BuildCycle(() => {
      const build = Promise.withResolvers<void>();
      builds.push(build);
      return build.promise;
    });
    cycle.change();
    cycle.change();
    cycle.change();
    expect(builds).toHaveLength(1);
    builds[0]?.resolve();
    await Bun.sleep(0);
    expect(builds).toHaveLength(2);
    cycle.close();
    cycle.change();
    builds[1]?.resolve();
    await Bun.sleep(0);
    expect(builds).toHaveLength(2);
    expect(cycle.state).toBe("closed");
  });

  test("what cannot happen throws", () => {
    expect(() => nextCycle("idle", "done")).toThrow("cannot be told: done");
    for (const event of ["change", "done", "close"] as CycleEvent[]) expect(nextCycle("closed", event)).toBe("closed");
  });
});

describe("the watcher", () => {
  test("sees a save, a save by rename, and what appears where something is missing; nothing else", async () => {
    using directory = temporaryDirectory();
    const file = join(directory.path, "src/worker.ts");
    await Bun.write(file, "1");
    let seen = Promise.withResolvers<void>();
    let count = 0;
    const watcher = new SourceWatcher(new SystemClock(), () => {
      count++;
      seen.resolve();
    });
    const next = async (change: () => unknown): Promise<void> => {
      seen = Promise.withResolvers();
      await change();
      await seen.promise;
    };
    try {
      watcher.watch({ files: [file], anywhereIn: [] }, Number.POSITIVE_INFINITY);
      await next(() => Bun.write(file, "2"));
      await next(async () => {
        await Bun.write(`${file}.tmp`, "3");
        renameSync(`${file}.tmp`, file);
      });
      const before = count;
      await Bun.write(join(dirname(file), "other.ts"), "x");
      watcher.watch({ files: [file], anywhereIn: [directory.path] }, Number.POSITIVE_INFINITY);
      // A directory that nobody looked into: the next real change is the first to be told.
      mkdirSync(join(directory.path, "node_modules"));
      await next(() => Bun.write(join(dirname(file), "lib.ts"), "x"));
      expect(count).toBeGreaterThan(before);

      // Saved after it was read and before anybody watched there.
      const late = join(directory.path, "late/late.ts");
      await Bun.write(late, "x");
      await next(() => watcher.watch({ files: [late], anywhereIn: [] }, 0));
    } finally {
      watcher.close();
    }
  });
});

describe("projects beside one", () => {
  test("bindings bring theirs, each once, those that are bound first and those that they need behind", async () => {
    using directory = temporaryDirectory();
    const make = async (name: string, services: Record<string, string>): Promise<void> => {
      const bound = Object.fromEntries(
        Object.entries(services).map(([binding, worker]) => [binding, { worker, project: `../${worker}` }]),
      );
      await Bun.write(
        join(directory.path, name, "atoll.json"),
        JSON.stringify({ name, main: "w.ts", services: bound }),
      );
    };
    await make("front", { A: "a", B: "b" });
    await make("a", { B: "b" });
    await make("b", { FRONT: "front" });
    const main = await loadProject(join(directory.path, "front"));
    const beside = await projectsWith(main, []);
    expect(beside.map(({ project }) => project.name)).toEqual(["a", "b"]);
    await make("c", {});
    await Bun.write(join(directory.path, "d/atoll.json"), JSON.stringify({ name: "c", main: "w.ts" }));
    const twice = projectsWith(
      main,
      ["c", "d"].map((name) => join(directory.path, name)),
    );
    expect(await rejection(twice)).toMatchObject({
      message: "two of the projects are named c; names in a Space differ",
    });
  });
});

describe("what people see", () => {
  test("a Worker's colours pass, and nothing else of it steers the terminal", () => {
    let printed = "";
    const print = (text: string): void => {
      printed += text;
    };
    const clock = new SystemClock();
    const reporter = new PeopleReporter({ clock, colour: false, severalWorkers: true, keys: null, print });
    reporter.report({
      event: "console",
      worker: "w",
      level: "info",
      message: "a\u001b[31mb\u001b[0m\u001b[2Jc\u0007\nd",
    });
    expect(printed.slice("00:00:00 ".length)).toBe("w a\u001b[31mb\u001b[0m\\u001b[2Jc\\u0007\nd\n");
  });
});

describe("shares", () => {
  test("WD-5: whatever was before, a distribution is 1 to 8 Versions whose weights are whole, positive and sum to 10000", () => {
    const before = fc.uniqueArray(
      fc.record({ versionUid: fc.string({ minLength: 1, maxLength: 3 }), weight: fc.integer({ min: 1, max: 10_000 }) }),
      { maxLength: 8, selector: (share) => share.versionUid },
    );
    fc.assert(
      fc.property(before, fc.integer({ min: 1, max: 10_000 }), (shares, weight) => {
        const after = withShare(shares, "new version", weight);
        expect(after.reduce((sum, share) => sum + share.weight, 0)).toBe(10_000);
        expect(after.length).toBeLessThanOrEqual(8);
        expect(after.every((share) => Number.isInteger(share.weight) && share.weight >= 1)).toBe(true);
        const own = after.find((share) => share.versionUid === "new version");
        expect(own?.weight).toBe(shares.length === 0 ? 10_000 : weight);
      }),
    );
  });
});
