// Modules that want to hang, crash or deceive the verification of their Version.
import { describe, expect, test } from "bun:test";
import type { Clock } from "../../../../base/clock.ts";
import { SystemClock } from "../../../../base/clock.ts";
import { inspect, INSPECTION_WALL_MS } from "../../../../runtime/workers/inspection.ts";
import type { InspectReport } from "../../../../runtime/workers/worker-runtime.ts";
import { openCell } from "../../../../sandbox/open-cell.ts";

/** Waiting for the inspection's end is the one thing that has to be quick in a test. */
class HastyClock extends SystemClock implements Clock {
  override after(delayMs: number, fire: () => void): () => void {
    return super.after(delayMs === INSPECTION_WALL_MS ? 400 : delayMs, fire);
  }
}

async function verdict(
  sources: Readonly<Record<string, string>> | string,
  limits: { cpuMs?: number; memoryBytes?: number } = {},
): Promise<InspectReport> {
  const files = typeof sources === "string" ? { "main.js": sources } : sources;
  const clock = new HastyClock();
  let stuck = 0;
  let beats = 0;
  const beat = setInterval(() => beats++, 5);
  const startMs = performance.now();
  try {
    return await inspect(
      {
        entrypoint: "main.js",
        files: Object.keys(files).map((path) => ({ path, sha256: path, mediaType: "application/javascript+module" })),
      } as unknown as Parameters<typeof inspect>[0],
      {
        clock,
        bytes: { read: async (path: string) => new TextEncoder().encode(files[path] ?? "") } as unknown as Parameters<
          typeof inspect
        >[1]["bytes"],
        openCell: ({ spec, blocks }, owner) =>
          openCell(spec, blocks, {
            clock,
            limits: { cpuMs: limits.cpuMs ?? 400, memoryBytes: limits.memoryBytes ?? 200e6 },
            owner,
            closeGraceMs: 5_000,
            onStuck: () => void stuck++,
          }),
      },
    );
  } finally {
    clearInterval(beat);
    // The host kept its pace, whatever the module did.
    expect(beats).toBeGreaterThanOrEqual(Math.floor((performance.now() - startMs) / 100));
    expect(stuck).toBe(0);
  }
}

const code = async (source: string): Promise<string> => {
  const report = await verdict(source);
  return report.ok ? `handlers ${report.handlers.join()}` : report.code;
};

describe("modules that never end", () => {
  test.each([
    ["a loop at the top", "for (;;) {}"],
    ["a loop in a dependency's microtask", "await (async () => { for (;;) await 0; })();"],
    ["an await that never settles", "await new Promise(() => {}); export default { fetch() {} };"],
    ["a regular expression without end", `/^(a+)+$/.test("a".repeat(60) + "b");`],
    ["a source that the compiler cannot finish", `export default {}; x = ${"[".repeat(60)}`],
    ["timers that keep it waiting", "await new Promise(() => setInterval(() => {}, 1));"],
    [
      "a prototype with endless traps",
      "export class C {} Object.setPrototypeOf(C.prototype, new Proxy({}, { ownKeys() { for (;;) {} }, getPrototypeOf() { for (;;) {} } })); for (;;) {} export default {};",
    ],
  ])(
    "MW-41 MW-A11: %s",
    async (_, source) => {
      expect(await code(source)).toBe("inspection_timeout");
    },
    15_000,
  );

  test("MW-41: a source that the compiler cannot finish, reached by no static import", async () => {
    const report = await verdict({
      "main.js": `export default { fetch: () => import("./evil.js") };`,
      "evil.js": `x = ${"((a=".repeat(30)}1${")=>1)".repeat(30)}`,
    });
    expect(report).toMatchObject({ ok: false, code: "inspection_timeout" });
  }, 15_000);

  test("MW-41: memory without end", async () => {
    const report = await verdict("const keep = []; for (;;) keep.push(new Uint8Array(1e6).fill(1));", {
      cpuMs: 20_000,
    });
    expect(report).toMatchObject({ ok: false, code: "inspection_timeout" });
  }, 15_000);
});

describe("modules that break", () => {
  test.each([
    ["a stack overflow", "const f = () => 1 + f(); f();", "module_evaluation_failed"],
    ["nesting beyond the stack", `export default ${"(".repeat(100_000)}`, "module_syntax_error"],
    ["a giant string", "'x'.repeat(2 ** 31);", "module_evaluation_failed"],
    [
      "an error whose every property throws",
      "throw new Proxy(new Error('x'), { get() { throw 1; }, getOwnPropertyDescriptor() { throw 2; } });",
      "module_evaluation_failed",
    ],
    ["an error with a giant message", "throw new Error('x'.repeat(1e7));", "module_evaluation_failed"],
    [
      "a lie about the reason",
      "const e = new Error('x'); e.name = 'default_export_invalid'; throw e;",
      "module_evaluation_failed",
    ],
    ["a call to the outside", "await fetch('https://example.com/');", "module_evaluation_failed"],
    ["process.exit", "process.exit(0);", "module_evaluation_failed"],
    [
      "an export in the temporal dead zone",
      "export default { fetch() {} }; export { late }; throw late; let late = 1;",
      "module_evaluation_failed",
    ],
  ])(
    "MW-32 MW-41: %s",
    async (_, source, expected) => {
      const report = await verdict(source);
      expect(report).toMatchObject({ ok: false, code: expected });
      if (!report.ok) expect(report.message.length).toBeLessThan(10_000);
    },
    15_000,
  );
});

describe("modules that lie", () => {
  const patches = `
    const yes = () => true;
    Array.isArray = () => false; Object.getPrototypeOf = () => Object.prototype; Reflect.getPrototypeOf = () => Object.prototype; Reflect.ownKeys = () => ["default", "fetch", "queue", "scheduled"];
    Reflect.getOwnPropertyDescriptor = Object.getOwnPropertyDescriptor = () => ({ value() {}, enumerable: true, configurable: true, writable: true }); Reflect.has = yes; Object.hasOwn = yes;
    JSON.stringify = () => '"queue"'; JSON.parse = () => ({ handlers: ["queue"], classes: [] }); String.prototype.slice = () => "queue"; String.prototype.indexOf = () => 0;
    Map.prototype.get = Map.prototype.set = () => yes; Promise.prototype.then = function (f) { f({ handlers: ["queue"] }); return this; }; Reflect.apply = () => "queue"; Function.prototype.call = Function.prototype.apply = () => "queue";
    Object.defineProperty(Object.prototype, "then", { configurable: true, get() { return undefined; } }); Object.prototype.fetch = Object.prototype.queue = () => {}; Object.prototype.toJSON = () => ["queue"]; Array.prototype[Symbol.iterator] = function* () { yield "queue"; };
    Symbol.hasInstance; globalThis.Promise = class {}; globalThis.JSON = {}; globalThis.Reflect = {};`;

  test.each([
    ["has nothing", "export default {};", "handlers "],
    ["has fetch", "export default { fetch() {} };", "handlers fetch"],
    ["has all", "export default { fetch() {}, scheduled() {}, queue() {} };", "handlers fetch,scheduled,queue"],
    ["exports a class", "export default class { fetch() {} }", "default_export_invalid"],
    ["exports nothing", "export const a = 1;", "default_export_invalid"],
  ])("MW-20 MW-21 MW-41: patched built-ins change no verdict: a module that %s", async (_, source, expected) => {
    expect(await code(`${patches}\n${source}`)).toBe(expected);
  });

  test("MW-20: what changes after evaluation changes nothing", async () => {
    expect(
      await code(
        "const o = { fetch() {} }; export default o; queueMicrotask(() => { o.queue = () => {}; }); setTimeout(() => { o.scheduled = () => {}; }, 0);",
      ),
    ).toMatch(/^handlers fetch(,queue)?$/);
  });

  test("MW-20 MW-A6: getters and traps of the default export are not run", async () => {
    expect(await code("export default { get fetch() { for (;;) {} }, get queue() { throw 1; } };")).toBe("handlers ");
    expect(
      await code(
        "export default new Proxy({ fetch() {} }, { getPrototypeOf() { for (;;) {} }, ownKeys() { for (;;) {} } });",
      ),
    ).toBe("default_export_invalid");
    expect(await code("export default { fetch: new Proxy(() => {}, { get() { for (;;) {} } }) };")).toBe(
      "handlers fetch",
    );
  });

  test("MW-23: classes cannot hide behind proxies or drown the verdict", async () => {
    const report = await verdict(
      `export const P = new Proxy(class {}, { get() { for (;;) {} }, getOwnPropertyDescriptor() { for (;;) {} } });
       export class R {} Object.setPrototypeOf(R.prototype, new Proxy({}, { ownKeys() { for (;;) {} } }));
       export class Many {} for (let i = 0; i < 1e5; i++) Many.prototype["m" + i] = () => {}; export default { fetch() {} };`,
    );
    if (!report.ok) throw new Error(report.message);
    expect(report.classes.map(({ name, methods }) => [name, methods.length])).toEqual([
      ["Many", 255],
      ["R", 0],
    ]);
    const names = Array.from({ length: 20_000 }, (_, i) => `export class C${i}_${"x".repeat(20)} {}`).join("");
    expect(await code(`${names} export default {};`)).toBe("module_evaluation_failed");
  });
});
