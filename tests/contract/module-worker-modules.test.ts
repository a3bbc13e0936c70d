// ModuleWorker, chapters 2 to 4: what a Version's modules are and how they find each other, in a real cell.
import { describe, expect, test } from "bun:test";
import { CellRig, handlerModule, type ModuleSource } from "../support/cell-rig.ts";

const EMPTY_WASM = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);
/** (module (func (export "f") (result i32) (i32.const 42))) */
const ANSWER_WASM = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 127, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0, 0, 10, 6, 1, 4, 0, 65, 42, 11,
]);

type Sources = Readonly<Record<string, ModuleSource>>;

/** The answer of `main.js`'s handler, as JSON. */
async function answer(sources: Sources): Promise<unknown> {
  await using rig = new CellRig(sources);
  expect(await rig.loaded()).toMatchObject({ ok: true });
  return await rig.json("/");
}

async function refusal(sources: Sources): Promise<{ code: string; message: string }> {
  await using rig = new CellRig(sources);
  const loaded = await rig.loaded();
  if (loaded.ok) throw new Error("the graph was accepted");
  return { code: loaded.code, message: loaded.message };
}

const handler = (body: string, top = ""): string => handlerModule(`return Response.json(${body});`, top);

describe("media types", () => {
  test("MW-25 MW-26 MW-27 MW-28: each kind arrives as what it is", async () => {
    const main = handler(
      `[greeting, bytes.constructor === ArrayBuffer, [...new Uint8Array(bytes)], wasm instanceof WebAssembly.Module,
        new WebAssembly.Instance(wasm).exports.f(), Object.keys(text), Object.keys(b), Object.keys(w), text[Symbol.toStringTag]]`,
      `import greeting, * as text from "./hello.txt"; import bytes, * as b from "./b.bin"; import wasm, * as w from "./w.wasm";`,
    );
    expect(
      await answer({
        "main.js": main,
        "hello.txt": { text: "grüß \u0000 dich 👋" },
        "b.bin": { bytes: new Uint8Array([0, 255, 128]) },
        "w.wasm": { wasm: ANSWER_WASM },
      }),
    ).toEqual(["grüß \u0000 dich 👋", true, [0, 255, 128], true, 42, ["default"], ["default"], ["default"], "Module"]);
  });

  test("MW-26: text modules have no other export", async () => {
    const found = await refusal({
      "main.js": `import { x } from "./t.txt"; export default {};`,
      "t.txt": { text: "" },
    });
    expect(found.code).toBe("module_syntax_error");
  });

  test("MW-29 MW-39: a source map is no target", async () => {
    const map = { "main.js.map": { sourceMap: true } } as const;
    expect((await refusal({ "main.js": `import "./main.js.map"; export default {};`, ...map })).code).toBe(
      "unsupported_media_type",
    );
    const main = handlerModule(`try { await import("./main.js.map"); } catch (e) { return Response.json(e.name); }`);
    expect(await answer({ "main.js": main, ...map })).toBe("unsupported_media_type");
  });

  test("MW-30 MW-A5: an import attribute may repeat the media type and nothing else", async () => {
    const files = { "t.txt": { text: "x" }, "j.js": "export default 1;" } as const;
    for (const [statement, code] of [
      [`import "./t.txt" with { type: "json" };`, "unsupported_media_type"],
      [`import "./j.js" with { type: "text" };`, "unsupported_media_type"],
      [`import "./t.txt" with { type: "bytes" };`, "unsupported_media_type"],
    ] as const) {
      expect((await refusal({ "main.js": `${statement} export default {};`, ...files })).code).toBe(code);
    }
    const main = handlerModule(
      `const name = async (f) => { try { return (await f()).default; } catch (e) { return e.name; } };
       return Response.json([t, await name(() => import("./t.txt", { with: { type: "text" } })), await name(() => import("./t.txt", { with: { type: "json" } }))]);`,
      `import t from "./t.txt" with { type: "text" };`,
    );
    expect(await answer({ "main.js": main, ...files })).toEqual(["x", "x", "unsupported_media_type"]);
  });

  test("MW-31: the host instantiates nothing", async () => {
    // Its start function would trap.
    const trap = new Uint8Array([
      0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 8, 1, 0, 10, 5, 1, 3, 0, 0, 11,
    ]);
    const main = handler("typeof m", `import m from "./trap.wasm";`);
    expect(await answer({ "main.js": main, "trap.wasm": { wasm: trap } })).toBe("object");
  });

  test("MW-32: what is no WebAssembly is refused, and nothing else is tried", async () => {
    const bad = { "m.wasm": { wasm: new TextEncoder().encode("export default 1") } };
    expect((await refusal({ "main.js": `import "./m.wasm"; export default {};`, ...bad })).code).toBe("module_invalid");
  });

  test.each([
    ["a syntax error", "export default {;", "module_syntax_error", "main.js"],
    ["a duplicate export", "export const a = 1; export { a };", "module_syntax_error", "main.js"],
    ["a throw at the top", "throw new RangeError('at the top');", "module_evaluation_failed", "RangeError: at the top"],
    [
      "a rejected await at the top",
      "await Promise.reject(new Error('late'));",
      "module_evaluation_failed",
      "Error: late",
    ],
    ["a primitive thrown", "throw 'text';", "module_evaluation_failed", "thrown"],
    ["html comments", "<!-- x", "module_syntax_error", "main.js"],
    ["a top-level return", "return;", "module_syntax_error", "main.js"],
  ])("MW-32 MW-41: %s", async (_, source, code, text) => {
    const found = await refusal({ "main.js": source });
    expect(found.code).toBe(code);
    expect(found.message).toContain(text);
  });
});

describe("resolution", () => {
  const files = {
    "lib/deep/a.js": "export default 'a';",
    "lib/b.js": `export { default } from "./deep/a.js"; export { default as again } from "/lib/deep/a.js";`,
    "a%20b.js": "export default 'percent';",
    "A.js": "export default 'upper';",
    "a.js": "export default 'lower';",
    noext: "export default 'noext';",
    "lib/index.js": "export default 'index';",
  } as const;

  test("MW-33 MW-34 MW-35 MW-37 MW-38: exactly what the manifest lists", async () => {
    const main = handler(
      `[a, b, again, percent, upper, lower, noext, dots]`,
      `import a from "./lib/deep/a.js"; import b, { again } from "./lib/../lib/./b.js"; import percent from "./a%20b.js";
       import upper from "/A.js"; import lower from "./a.js"; import noext from "./noext"; import dots from "/lib/deep/../../noext";`,
    );
    expect(await answer({ "main.js": main, ...files })).toEqual([
      "a",
      "a",
      "a",
      "percent",
      "upper",
      "lower",
      "noext",
      "noext",
    ]);
  });

  test.each([
    "./lib",
    "./lib/",
    "./lib/deep/a",
    "./b.JS",
    "lib/b.js",
    "./a b.js",
    "../a.js",
    "./lib//b.js",
    "./lib\\\\b.js",
  ])("MW-36 MW-38 MW-39 MW-40: static, re-exported and dynamic %j are all refused", async (specifier) => {
    for (const form of [
      `import "${specifier}";`,
      `export * from "${specifier}";`,
      `export { x } from "${specifier}";`,
    ]) {
      expect((await refusal({ "main.js": `${form} export default {};`, ...files })).code).toBe("module_not_found");
    }
    const main = handlerModule(
      `try { await import("${specifier}"); } catch (e) { return Response.json([e.name, e instanceof Error]); }`,
    );
    expect(await answer({ "main.js": main, ...files })).toEqual(["module_not_found", true]);
  });

  test("MW-41: a fault anywhere in the static graph is found before anything runs", async () => {
    await using rig = new CellRig({
      "main.js": `console.log("ran"); import "./a.js"; export default {};`,
      "a.js": `console.log("ran too"); import "./b.js";`,
      "b.js": `import { missing } from "./c.js";`,
      "c.js": "export const present = 1;",
    });
    expect(await rig.loaded()).toMatchObject({ ok: false, code: "module_syntax_error" });
    expect(rig.lines).toEqual([]);
  });

  test("MW-41: what only a dynamic import would reach is not looked at", async () => {
    expect(
      await answer({
        "main.js": handler("1", `const later = () => import("./broken.js");`),
        "broken.js": "syntax error",
      }),
    ).toBe(1);
  });

  test("MW-33: a nested entrypoint resolves from its own folder", async () => {
    await using rig = new CellRig(
      {
        "src/main.js": handler("x", `import x from "./x.js";`),
        "src/x.js": "export default 'near';",
        "x.js": "export default 'far';",
      },
      { entrypoint: "src/main.js" },
    );
    expect(await rig.json("/")).toBe("near");
  });

  test("MW-34: odd but exact names work", async () => {
    const names = [
      "with space.js",
      "ünï.js",
      "quote'.js",
      "back`tick.js",
      "a=b&c.js",
      "__proto__",
      "constructor",
      "日本.js",
    ];
    const sources: Record<string, string> = Object.create(null) as Record<string, string>;
    sources["main.js"] = handler(
      "all",
      names.map((name, i) => `import m${i} from ${JSON.stringify(`./${name}`)};`).join("") +
        `const all = [${names.map((_, i) => `m${i}`).join(",")}];`,
    );
    for (const [i, name] of names.entries()) sources[name] = `export default ${i};`;
    expect(await answer(Object.fromEntries(Object.entries(sources)))).toEqual(names.map((_, i) => i));
  });
});

describe("dynamic imports", () => {
  test("MW-42: errors reject by name, each time, and never throw", async () => {
    const main = handlerModule(
      `const name = (specifier) => { let p; try { p = import(specifier); } catch { return "thrown"; } return p.then(() => "ok", (e) => e.name + ":" + (e instanceof SyntaxError)); };
       const all = []; for (const s of ["./no.js", "./bad.js", "./bad.js", "./deep.js", "./unlinked.js", "./unlinked.js", "./good.js", "bare", 5, null]) all.push(await name(s));
       return Response.json(all);`,
    );
    expect(
      await answer({
        "main.js": main,
        "bad.js": "export default {;",
        "deep.js": `import "./nowhere.js";`,
        "unlinked.js": `import { missing } from "./good.js";`,
        "good.js": "export default 1;",
      }),
    ).toEqual([
      "module_not_found:false",
      "SyntaxError:true",
      "SyntaxError:true",
      "module_not_found:false",
      "SyntaxError:true",
      "SyntaxError:true",
      "ok",
      "module_not_found:false",
      "module_not_found:false",
      "module_not_found:false",
    ]);
  });

  test("MW-42: a module evaluates once, and its own error comes back each time", async () => {
    const main = handlerModule(
      `globalThis.runs = 0; const errors = []; for (let i = 0; i < 3; i++) try { await import("./throws.js"); } catch (e) { errors.push(e); }
       const [a, b] = await Promise.all([import("./counts.js"), import("./counts.js")]);
       return Response.json([errors[0] === errors[1] && errors[1] === errors[2], errors[0].mine, a === b, a === await import("./counts.js"), globalThis.runs]);`,
    );
    expect(
      await answer({
        "main.js": main,
        "throws.js": "globalThis.runs++; const e = new Error('x'); e.mine = true; throw e;",
        "counts.js": "globalThis.runs++; await 0; export default 1;",
      }),
    ).toEqual([true, true, true, true, 2]);
  });

  test("MW-42: evaluation starts after the statement that imports, and an import during a pending evaluation waits", async () => {
    const main = handlerModule(
      `globalThis.trail = []; const first = import("./slow.js"); trail.push("after import"); await 0; const second = import("./slow.js").then(() => trail.push("second"));
       await Promise.all([first, second]); return Response.json(trail);`,
    );
    expect(
      await answer({
        "main.js": main,
        "slow.js": `trail.push("start"); await new Promise((r) => setTimeout(r, 5)); trail.push("end");`,
      }),
    ).toEqual(["after import", "start", "end", "second"]);
  });

  test("MW-43: a module may import itself, now and later", async () => {
    const main = handlerModule(
      `const again = await import("./main.js"); return Response.json([self_.a === 1, again === self_, again.default === self_.default]);`,
      `import * as self_ from "./main.js"; export let a = 1;`,
    );
    expect(await answer({ "main.js": main })).toEqual([true, true, true]);
  });

  test("MW-42: an export named then is the module's own affair", async () => {
    const main = handlerModule(`return Response.json(await import("./thenable.js"));`);
    expect(await answer({ "main.js": main, "thenable.js": "export function then(resolve) { resolve('mine'); }" })).toBe(
      "mine",
    );
  });
});

describe("the language's module semantics", () => {
  test("MW-43: live bindings across a cycle, hoisted functions before evaluation", async () => {
    const main = handler("[count, (bump(), count), early]", `import { count, bump, early } from "./a.js";`);
    expect(
      await answer({
        "main.js": main,
        "a.js": `import { now } from "./b.js"; export let count = 1; export function bump() { count++; } export const early = now;`,
        "b.js": `import { bump, count } from "./a.js"; const attempt = () => { try { return count; } catch (e) { return e.name; } }; export const now = [typeof bump, attempt()];`,
      }),
    ).toEqual([1, 2, ["function", "ReferenceError"]]);
  });

  test("MW-43: re-exports, star exports and their conflicts, namespaces", async () => {
    const main = handler(
      "[Object.keys(all), all.shared === undefined, all.renamed, all.ns.x, Object.isSealed(all), delete Object.create(all).x]",
      `import * as all from "./all.js";`,
    );
    expect(
      await answer({
        "main.js": main,
        "all.js": `export * from "./x.js"; export * from "./y.js"; export { x as renamed } from "./x.js"; export * as ns from "./x.js"; export default 0;`,
        "x.js": "export const x = 1, shared = 1; export default 9;",
        "y.js": "export const y = 2, shared = 2;",
      }),
    ).toEqual([["default", "ns", "renamed", "x", "y"], true, 1, 1, true, true]);
  });

  test("MW-43: duplicate specifiers are one module", async () => {
    const main = handler(
      "[a === b, b === c, runs]",
      `import a from "./o.js"; import b from "/o.js"; import c from "././o.js"; import "./o.js";`,
    );
    expect(
      await answer({ "main.js": main, "o.js": "globalThis.runs = (globalThis.runs ?? 0) + 1; export default {};" }),
    ).toEqual([true, true, 1]);
  });

  test("MW-43: top-level await orders dependants, siblings run side by side", async () => {
    const main = handler("trail", `import "./a.js"; import "./b.js"; trail.push("main");`);
    expect(
      await answer({
        "main.js": main,
        "a.js": `globalThis.trail = ["a"]; await new Promise((r) => setTimeout(r, 10)); trail.push("a done");`,
        "b.js": `trail.push("b");`,
      }),
    ).toEqual(["a", "b", "a done", "main"]);
  });

  test("MW-25: a hashbang, a byte order mark, and modules of only comments", async () => {
    const main = "#!/usr/bin/env node\n" + handler("[a, typeof Bun]", `import a from "./a.js"; import "./c.js";`);
    expect(await answer({ "main.js": main, "a.js": "\uFEFFexport default 1;", "c.js": "// nothing" })).toEqual([
      1,
      "undefined",
    ]);
    expect(await answer({ "main.js": handler("1"), "h.js": "#!x" })).toBe(1);
  });

  test.each([
    ["const", "const Bun = 5;"],
    ["function", "function Bun() {} Bun = 5;"],
    ["class", "class Bun { static valueOf() { return 5; } }"],
    ["import", `import Bun from "./five.js";`],
    ["var in a block", "{ var Bun = 5; }"],
  ])("MW-67: a module may call something of its own Bun: %s", async (_, declaration) => {
    expect(
      await answer({ "main.js": handler("Number(Bun.valueOf())", declaration), "five.js": "export default 5;" }),
    ).toBe(5);
  });

  test("MW-67: Bun stays hidden where another scope declares it", async () => {
    const main = handler(
      "[typeof Bun, (() => { let Bun = 1; return Bun; })(), (() => typeof Bun)(), shared]",
      `const shared = (function (Bun) { return typeof Bun; })(); export { Bun as exported };`,
    );
    expect(await answer({ "main.js": main })).toEqual(["undefined", 1, "undefined", "undefined"]);
  });

  test("MW-25: 512 modules in a chain, and in one great circle", async () => {
    for (const last of ["", `import "./m0.js";`]) {
      const sources: Record<string, string> = { "main.js": handler("n", `import "./m0.js"; const n = globalThis.n;`) };
      for (let i = 0; i < 511; i++)
        sources[`m${i}.js`] = `${i < 510 ? `import "./m${i + 1}.js";` : last} globalThis.n = (globalThis.n ?? 0) + 1;`;
      expect(await answer(sources)).toBe(511);
    }
  }, 15_000);
});

describe("the default export", () => {
  const load = async (source: string): Promise<unknown> => {
    await using rig = new CellRig({ "main.js": source }, { inspect: true });
    const loaded = await rig.loaded();
    return loaded.ok ? loaded.handlers : loaded.code;
  };

  test.each([
    ["an object", "export default { fetch() {}, queue: async () => {} };", ["fetch", "queue"]],
    ["no prototype", "export default Object.assign(Object.create(null), { scheduled() {} });", ["scheduled"]],
    ["nothing of the three", "export default { other() {} };", []],
    ["a value that is no function", "export default { fetch: 'x' };", []],
    [
      "a handler that is not enumerable",
      "export default Object.defineProperty({}, 'fetch', { value() {} });",
      ["fetch"],
    ],
    ["a getter", "export default { get fetch() { return () => {}; } };", []],
    ["an inherited handler", "export default Object.setPrototypeOf({}, null);", []],
    ["a class as handler", "export default { fetch: class {} };", ["fetch"]],
    ["a frozen object", "export default Object.freeze({ fetch() {} });", ["fetch"]],
  ])("MW-20 MW-21 MW-A6: %s", async (_, source, handlers) => {
    expect(await load(source)).toEqual(handlers);
  });

  test.each([
    ["none", "export const fetch = () => {};"],
    ["a class", "export default class { fetch() {} }"],
    ["an instance", "class W { fetch() {} } export default new W();"],
    ["an object that inherits", "export default Object.create({ fetch() {} });"],
    ["an array", "export default [];"],
    ["a function", "export default () => {};"],
    ["null", "export default null;"],
    ["a proxy", "export default new Proxy({ fetch() {} }, {});"],
    ["a promise", "export default Promise.resolve({ fetch() {} });"],
    ["a namespace", `import * as self_ from "./main.js"; export default self_;`],
  ])("MW-20 MW-A6: %s is refused", async (_, source) => {
    expect(await load(source)).toBe("default_export_invalid");
  });

  test("MW-23: classes are told beside it, with the methods of their prototypes", async () => {
    await using rig = new CellRig(
      {
        "main.js": `class Base { inherited() {} } export class Counter extends Base { constructor() { super(); } fetch() {} get value() { return 1; } static s() {} #p() {} async alarm() {} }
          export function Old() {} Old.prototype.run = function () {}; export const arrow = () => {}; export default {};`,
      },
      { inspect: true },
    );
    const loaded = await rig.loaded();
    if (!loaded.ok) throw new Error(loaded.code);
    expect(loaded.classes).toEqual([
      { name: "Counter", methods: ["fetch", "alarm", "inherited"] },
      { name: "Old", methods: ["run"] },
    ]);
  });

  test("MW-19: the module that the entrypoint names is the one that runs", async () => {
    await using rig = new CellRig(
      { "other.js": handler("'other'"), "main.js": handler("'main'") },
      { entrypoint: "main.js" },
    );
    expect(await rig.json("/")).toBe("main");
  });
});

test("MW-28: the empty module compiles", async () => {
  expect(
    await answer({
      "main.js": handler("WebAssembly.Module.exports(m)", `import m from "./e.wasm";`),
      "e.wasm": { wasm: EMPTY_WASM },
    }),
  ).toEqual([]);
});
