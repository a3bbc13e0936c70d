// Tenant code tries every known way out of its realm, and none leads anywhere.
import { describe, expect, test } from "bun:test";
import { CellRig } from "../../../support/cell-rig.ts";

/** Run each text as the body of an async function in one realm; tells for each what came of it. */
async function outcomes(bodies: readonly string[]): Promise<readonly string[]> {
  await using rig = new CellRig({
    "main.js": `
      const tell = (value) => {
        try {
          if (value === null) return "null";
          if (typeof value === "object") return "object with " + Reflect.ownKeys(value).map(String).join();
          if (typeof value === "function") return "function " + value.name;
          return typeof value + " " + String(value);
        } catch (error) { return "opaque"; }
      };
      const attempts = [${bodies.map((body) => `async () => { ${body} }`).join(",\n")}];
      export default { async fetch() {
        const told = [];
        for (const attempt of attempts) {
          try { told.push("got " + tell(await attempt())); } catch (error) { told.push("threw " + error.name); }
        }
        return Response.json(told);
      } };`,
  });
  const loaded = await rig.loaded();
  if (!loaded.ok) throw new Error(loaded.message);
  return (await rig.json("/")) as string[];
}

async function attempt(body: string): Promise<string> {
  return (await outcomes([body]))[0] ?? "";
}

function attempts(title: string, expected: string, bodies: readonly string[]): void {
  test(title, async () => {
    const found = await outcomes(bodies);
    expect(bodies.map((body, i) => [body, found[i]])).toEqual(bodies.map((body) => [body, expected]));
  });
}

describe("the host's objects are out of reach", () => {
  test("MW-67: no route to Bun, process or any host global by name", async () => {
    const names = [
      "Bun",
      "process",
      "require",
      "module",
      "exports",
      "__dirname",
      "Buffer",
      "global",
      "window",
      "Worker",
      "WebSocket",
      "MessageChannel",
      "MessagePort",
      "BroadcastChannel",
      "SharedArrayBuffer",
      "ShadowRealm",
      "EventSource",
      "XMLHttpRequest",
      "postMessage",
      "onmessage",
      "addEventListener",
      "prompt",
      "alert",
      "confirm",
      "reportError",
      "setImmediate",
      "clearImmediate",
      "HTMLRewriter",
      "Loader",
      "$vm",
      "gc",
      "importScripts",
      "close",
      "name",
      "PerformanceObserver",
      "WebTransport",
      "$recursive",
      "hasOwnProperty",
      "constructor",
      "__proto__",
    ];
    const bare = names.map((name) => `["${name}", typeof ${name}]`).join(",");
    await using rig = new CellRig({
      "main.js": `export default { fetch: () => Response.json({
        bare: [${bare}].filter(([, type]) => type !== "undefined"),
        own: ${JSON.stringify(names)}.filter((name) => Object.hasOwn(globalThis, name) || Object.hasOwn(self, name)),
        got: ${JSON.stringify(names)}.filter((name) => globalThis[name] !== undefined && !(name in Object.prototype)),
        described: ${JSON.stringify(names)}.filter((name) => Reflect.getOwnPropertyDescriptor(globalThis, name)),
        listed: Reflect.ownKeys(globalThis).filter((key) => ${JSON.stringify(names)}.includes(key)),
        same: [globalThis === self, globalThis.globalThis === globalThis, typeof this],
      }) };`,
    });
    expect(await rig.json("/")).toEqual({
      bare: [],
      own: [],
      got: [],
      described: [],
      listed: [],
      same: [true, true, "undefined"],
    });
  });

  attempts("MW-67: Bun does not come out of the facade of the global object", "got undefined undefined", [
    `return Reflect.get(globalThis, "Bun")`,
    `return Object.getOwnPropertyDescriptors(globalThis).Bun`,
    `return Object.entries(globalThis).find(([name]) => name === "Bun")`,
    `return { ...globalThis }.Bun`,
    `return Object.assign({}, globalThis).Bun`,
    `return new Proxy(globalThis, {}).Bun`,
    `return Object.create(globalThis).Bun`,
    `const { Bun: found } = globalThis; return found`,
    `for (const key in globalThis) if (key === "Bun") return globalThis[key]`,
    `return Reflect.get(globalThis, { toString: () => "Bun" })`,
    `let n = 0; return globalThis[{ [Symbol.toPrimitive]: () => (n++ ? "Bun" : "x") }]`,
    `return globalThis.__lookupGetter__("Bun")`,
    `return Object.groupBy([globalThis], (g) => typeof g.Bun).object`,
  ]);

  test("MW-67: writing, deleting and defining globals works as far as it concerns the tenant alone", async () => {
    await using rig = new CellRig({
      "main.js": `export default { fetch() {
        globalThis.mine = 1;
        const seen = [typeof mine, mine, delete globalThis.mine, typeof mine];
        const throws = (f) => { try { f(); return false; } catch (error) { return error.name; } };
        Object.defineProperty(globalThis, "pinned", { value: 7 });
        return Response.json([
          ...seen, pinned,
          throws(() => Object.defineProperty(globalThis, "fixed", { value: 1, configurable: false })),
          throws(() => { globalThis.Bun = 1; }), throws(() => Object.defineProperty(globalThis, "Bun", { value: 1 })),
          throws(() => Object.setPrototypeOf(globalThis, {})), throws(() => Object.freeze(globalThis)),
          Reflect.deleteProperty(globalThis, "Bun"), "Bun" in globalThis,
        ]);
      } };`,
    });
    expect(await rig.json("/")).toEqual([
      "number",
      1,
      true,
      "undefined",
      7,
      "TypeError",
      "TypeError",
      "TypeError",
      "TypeError",
      "TypeError",
      false,
      false,
    ]);
  });

  test("MW-67: the real global object is the receiver of no getter and no setter", async () => {
    await using rig = new CellRig({
      "main.js": `
        const seen = [];
        const note = (where, value) => { try { seen.push([where, value === undefined ? "undefined" : value === globalThis ? "facade" : typeof value, value != null && typeof value.Bun === "object"]); } catch { seen.push([where, "opaque", true]); } };
        for (const name of ["viaPrototype", "viaObject"]) Object.defineProperty(Object.prototype, name, {
          configurable: true, get() { note(name, this); return 1; }, set() { note(name + "=", this); } });
        Object.defineProperty(globalThis, "viaGlobal", { configurable: true, get() { note("viaGlobal", this); return 2; }, set() { note("viaGlobal=", this); } });
        globalThis.__defineGetter__("viaLegacy", function () { note("viaLegacy", this); return 3; });
        const tried = (f) => { try { return f(); } catch (error) { return error.name; } };
        export default { fetch() {
          const results = [
            tried(() => viaPrototype), tried(() => typeof viaObject), tried(() => viaGlobal), tried(() => { viaGlobal = 5; return "set"; }), tried(() => viaLegacy),
            tried(() => globalThis.viaGlobal), tried(() => globalThis.viaPrototype), tried(() => { globalThis.viaObject = 1; return "set"; }),
            tried(() => Reflect.get(globalThis, "viaGlobal", {})),
          ];
          return Response.json({ results, seen: seen.filter(([, kind, leak]) => leak || (kind !== "facade" && kind !== "undefined")) });
        } };`,
    });
    const found = (await rig.json("/")) as { results: unknown[]; seen: unknown[] };
    expect(found.seen).toEqual([]);
    expect(found.results.slice(0, 5)).toEqual(["ReferenceError", "undefined", 2, "set", 3]);
  });

  attempts("MW-67: a method that falls back on the global object is refused", "threw TypeError", [
    `return EventTarget.prototype.addEventListener.call(undefined, "x", function () {})`,
    `return (0, EventTarget.prototype.dispatchEvent)(new Event("x"))`,
    `const { removeEventListener } = EventTarget.prototype; return removeEventListener("x", () => {})`,
    `return Reflect.apply(EventTarget.prototype.dispatchEvent, null, [new Event("x")])`,
    `return EventTarget.prototype.addEventListener.bind(globalThis)("x", () => {})`,
  ]);

  test("MW-67: no built-in that is called without a receiver hands out the real global object", async () => {
    await using rig = new CellRig({
      "main.js": `
        const roots = [globalThis]; const seen = new Set(roots); const functions = new Set(); const leaks = [];
        const look = (value, path) => {
          if ((typeof value !== "object" && typeof value !== "function") || value === null) return;
          if (value !== globalThis && value.Bun !== undefined) leaks.push(path);
          if (!seen.has(value)) { seen.add(value); roots.push(value); if (typeof value === "function") functions.add([path, value]); }
        };
        const SKIP = new Set(["setInterval", "fetch"]);
        export default { fetch() {
          for (let i = 0; i < roots.length && i < 20000; i++) {
            const at = roots[i];
            try { look(Object.getPrototypeOf(at), "[[Prototype]]"); } catch {}
            for (const key of Reflect.ownKeys(at)) {
              const d = Reflect.getOwnPropertyDescriptor(at, key);
              if (d === undefined) continue;
              look(d.value, String(key)); look(d.get, "get " + String(key)); look(d.set, "set " + String(key));
            }
          }
          for (const [path, f] of functions) {
            if (SKIP.has(f.name)) continue;
            for (const self of [undefined, null]) for (const args of [[], [{}], [() => {}], ["Bun"]]) {
              try { const got = Reflect.apply(f, self, args); if (got !== globalThis && got != null && typeof got === "object" && got.Bun !== undefined) leaks.push("call " + path); if (got instanceof Promise) got.catch(() => {}); } catch {}
            }
          }
          return Response.json({ leaks, functions: functions.size });
        } };`,
    });
    const { leaks, functions } = (await rig.json("/")) as { leaks: string[]; functions: number };
    expect(leaks).toEqual([]);
    expect(functions).toBeGreaterThan(800);
  });
});

describe("code from strings", () => {
  attempts("MW-67: every compiler of strings refuses", "threw EvalError", [
    `return eval("1")`,
    `return (0, eval)("1")`,
    `return globalThis.eval("1")`,
    `return Function("return 1")()`,
    `return new Function("return 1")()`,
    `return globalThis.Function("return 1")()`,
    `return (() => {}).constructor("return 1")()`,
    `return (async () => {}).constructor("return 1")()`,
    `return (function* () {}).constructor("yield 1")()`,
    `return (async function* () {}).constructor("yield 1")()`,
    `return Object.getPrototypeOf(async () => {}).constructor("return 1")()`,
    `return Object.getPrototypeOf(function* () {}).constructor("return 1")()`,
    `return "".sub.constructor("return 1")()`,
    `return fetch.constructor("return 1")()`,
    `return console.log.constructor("return 1")()`,
    `return setTimeout.constructor.constructor("return 1")()`,
    `return Response.constructor("return 1")()`,
    `return [].constructor.constructor("return 1")()`,
    `return Reflect.construct(Function, ["return 1"])`,
    `return Reflect.construct(Object, ["return 1"], Function).constructor("return 1")()`,
    `return Reflect.apply(Function, null, ["return 1"])()`,
    `return new (class extends Function {})("return 1")()`,
    `return new (class extends (async () => {}).constructor {})("return 1")()`,
    `return Function.prototype.constructor.call(null, "return 1")()`,
    `return (function () {}).bind().constructor("return 1")()`,
    `return new Proxy(Function, {})("return 1")()`,
    `return Function.bind(null, "return 1")()()`,
    `return Array.from(["return 1"], Function)[0]()`,
  ]);
  attempts("MW-67: timers take functions only", "threw TypeError", [
    `return setTimeout("globalThis.x = 1", 0)`,
    `return setInterval("globalThis.x = 1", 0)`,
    `return setTimeout({ toString: () => "1" }, 0)`,
    `return queueMicrotask("globalThis.x = 1")`,
  ]);
  test("MW-67: instanceof Function and Function.prototype still mean what they say", async () => {
    expect(await attempt(`return [() => {}, class {}, fetch].every((f) => f instanceof Function)`)).toBe(
      "got boolean true",
    );
  });
});

describe("imports", () => {
  const specifiers = [
    "node:fs",
    "fs",
    "bun:ffi",
    "bun:sqlite",
    "bun",
    "node:vm",
    "data:text/javascript,export default 1",
    "file:///etc/passwd",
    "https://example.com/x.js",
    "blob:nothing",
    "/etc/passwd",
    "../../../../etc/passwd",
    "worker:///main.js",
    "atoll:realm",
    "node:async_hooks",
    "ws",
    "",
    "./main.js?x",
    "./main.js#x",
    "./missing.js",
  ];
  test.each(specifiers)("MW-36 MW-42: import(%j) reaches nothing", async (specifier) => {
    await using rig = new CellRig({
      "main.js": `export default { async fetch() {
        try { await import(${JSON.stringify(specifier)}); return new Response("imported"); }
        catch (error) { return new Response(error.name + " " + (error instanceof Error)); } } };`,
    });
    expect(await rig.text("/")).toBe("module_not_found true");
  });
  test.each(specifiers)("MW-36 MW-41: import %j is refused before anything runs", async (specifier) => {
    await using rig = new CellRig({
      "main.js": `import ${JSON.stringify(specifier)}; console.log("ran"); export default { fetch() {} };`,
    });
    expect(await rig.loaded()).toMatchObject({ ok: false, code: "module_not_found" });
    expect(rig.logs).toEqual([]);
  });
  test("MW-67: import.meta is empty and leads nowhere", async () => {
    expect(
      await attempt(
        `return JSON.stringify([Reflect.ownKeys(import.meta), Object.getPrototypeOf(import.meta), typeof import.meta.require, typeof import.meta.resolve, typeof import.meta.env, typeof import.meta.url])`,
      ),
    ).toBe(`got string [[],null,"undefined","undefined","undefined","undefined"]`);
  });
  test.each(["import source x from './b.js';", "import type x from './b.js';"])(
    "MW-30: %s is a syntax error",
    async (statement) => {
      await using rig = new CellRig({
        "main.js": `${statement} export default { fetch() {} };`,
        "b.js": "export default 1;",
      });
      expect(await rig.loaded()).toMatchObject({ ok: false, code: "module_syntax_error" });
    },
  );
  test("MW-36 MW-40: deferred imports follow the same rules", async () => {
    await using rig = new CellRig({ "main.js": `import defer * as fs from "node:fs"; export default { fetch() {} };` });
    expect(await rig.loaded()).toMatchObject({ ok: false, code: "module_not_found" });
    expect(await attempt(`return import.defer("node:fs")`)).toBe("threw module_not_found");
  });
});

describe("built-ins with a way out", () => {
  attempts("MW-69: fetch takes no scheme and no option of the engine", "threw TypeError", [
    `return fetch("file:///etc/passwd")`,
    `return fetch("data:,x")`,
    `return fetch("blob:x")`,
    `return fetch("s3://bucket/key")`,
    `return fetch("https://example.com/", { unix: "/var/run/docker.sock" })`,
    `return fetch("https://example.com/", { proxy: "http://127.0.0.1:1" })`,
    `return fetch("https://example.com/", { tls: { rejectUnauthorized: false }, verbose: true })`,
    `return fetch({ url: "file:///etc/passwd", toString() { return "file:///etc/passwd"; } })`,
    `return fetch("relative")`,
  ]);

  test("MW-67: extras of the engine are gone", async () => {
    await using rig = new CellRig({
      "main.js": `
        const blob = new Blob(["x"]);
        const extras = [
          ["Blob", blob, ["delete", "exists", "stat", "unlink", "write", "writer", "image", "json", "formData"]],
          ["URL", URL, ["createObjectURL", "revokeObjectURL"]],
          ["console", console, ["_stdout", "_stderr", "write", "Console", "takeHeapSnapshot", "profile", "screenshot"]],
          ["Error", Error, ["prepareStackTrace", "appendStackTrace"]],
          ["Atomics", Atomics, ["wait", "waitAsync", "notify"]],
          ["performance", performance, ["mark", "nodeTiming", "eventLoopUtilization", "timerify"]],
          ["navigator", navigator, ["hardwareConcurrency", "platform"]],
          ["WebAssembly", WebAssembly, ["compileStreaming", "instantiateStreaming"]],
          ["File", new File([], "f"), ["delete", "exists", "stat", "unlink", "write", "writer", "image"]],
        ];
        export default { fetch: () => Response.json(extras.flatMap(([name, object, keys]) => keys.filter((key) => object[key] !== undefined).map((key) => name + "." + key))) };`,
    });
    expect(await rig.json("/")).toEqual([]);
  });

  attempts("MW-67: no memory is shared and no thread is held", "threw TypeError", [
    `return new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true })`,
    `const get = () => true; return new WebAssembly.Memory({ initial: 1, maximum: 1, get shared() { return get(); } })`,
    `return Atomics.wait(new Int32Array(4), 0, 0)`,
    `return new WebAssembly.Memory.prototype.constructor({ initial: 1, maximum: 1, shared: true })`,
    `return new (class extends WebAssembly.Memory {})({ initial: 1, maximum: 1, shared: true })`,
  ]);

  attempts("MW-28: no WebAssembly is made from bytes when the bundle lists none", "threw CompileError", [
    `return new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]))`,
    `return WebAssembly.compile(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]))`,
    `return WebAssembly.instantiate(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]))`,
    `return new WebAssembly.Module.prototype.constructor(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]))`,
    `return Reflect.construct(WebAssembly.Module, [new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])], Object)`,
    `return new (class extends WebAssembly.Module {})(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]))`,
    `return structuredClone(new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])))`,
  ]);

  attempts("MW-67: what no thread could be freed from is bounded: cryptography", "threw NotSupportedError", [
    `return crypto.subtle.generateKey({ name: "RSA-OAEP", modulusLength: 16384, publicExponent: new Uint8Array([1, 0, 1]), hash: "SHA-256" }, true, ["encrypt"])`,
    `let n = 0; return crypto.subtle.generateKey({ name: "RSA-OAEP", get modulusLength() { return n++ === 0 ? 16384 : 2048; }, publicExponent: new Uint8Array([1, 0, 1]), hash: "SHA-256" }, true, ["encrypt"])`,
    `const k = await crypto.subtle.importKey("raw", new Uint8Array(8), "PBKDF2", false, ["deriveBits"]); return crypto.subtle.deriveBits({ name: "PBKDF2", hash: "SHA-512", salt: new Uint8Array(8), iterations: 2 ** 31 - 1 }, k, 256)`,
    `const k = await crypto.subtle.importKey("raw", new Uint8Array(8), "PBKDF2", false, ["deriveKey"]); return crypto.subtle.deriveKey({ name: "PBKDF2", hash: "SHA-512", salt: new Uint8Array(8), iterations: { valueOf: () => 2e9 } }, k, { name: "AES-GCM", length: 256 }, true, ["encrypt"])`,
  ]);
  attempts("MW-67: what no thread could be freed from is bounded: text", "threw RangeError", [
    `return "\u0344".repeat(2 ** 25).normalize("NFKD")`,
    `return String.prototype.normalize.call({ toString: () => "\u0344".repeat(2 ** 25) })`,
  ]);
  test("MW-68: bounded cryptography still works", async () => {
    const body = `const s = crypto.subtle; const bytes = new TextEncoder().encode("x"); const out = [];
      const aes = await s.generateKey({ name: "AES-GCM", length: 256 }, true, ["encrypt", "decrypt"]); const iv = new Uint8Array(12);
      out.push(new TextDecoder().decode(await s.decrypt({ name: "AES-GCM", iv, additionalData: bytes, tagLength: 128 }, aes, await s.encrypt({ name: "AES-GCM", iv, additionalData: bytes, tagLength: 128 }, aes, bytes))));
      const hmac = await s.importKey("raw", bytes, { name: "HMAC", hash: { name: "SHA-256" } }, false, ["sign", "verify"]); out.push(await s.verify("HMAC", hmac, await s.sign("HMAC", hmac, bytes), bytes));
      const ec = await s.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign", "verify"]); out.push(await s.verify({ name: "ECDSA", hash: "SHA-256" }, ec.publicKey, await s.sign({ name: "ECDSA", hash: "SHA-256" }, ec.privateKey, bytes), bytes));
      const a = await s.generateKey({ name: "ECDH", namedCurve: "P-256" }, true, ["deriveBits"]); out.push((await s.deriveBits({ name: "ECDH", public: a.publicKey }, a.privateKey, 256)).byteLength);
      const rsa = await s.generateKey({ name: "RSA-PSS", modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: "SHA-256" }, true, ["sign", "verify"]); out.push(await s.verify({ name: "RSA-PSS", saltLength: 32 }, rsa.publicKey, await s.sign({ name: "RSA-PSS", saltLength: 32 }, rsa.privateKey, bytes), bytes));
      const pw = await s.importKey("raw", bytes, "PBKDF2", false, ["deriveKey"]); const derived = await s.deriveKey({ name: "PBKDF2", hash: "SHA-256", salt: bytes, iterations: 1000 }, pw, { name: "AES-CTR", length: 128 }, true, ["wrapKey", "unwrapKey", "encrypt"]);
      const wrapped = await s.wrapKey("raw", aes, derived, { name: "AES-CTR", counter: new Uint8Array(16), length: 64 }); out.push((await s.unwrapKey("raw", wrapped, derived, { name: "AES-CTR", counter: new Uint8Array(16), length: 64 }, { name: "AES-GCM" }, true, ["encrypt"])).type);
      out.push((await s.digest("SHA-1", bytes)).byteLength, (await s.exportKey("jwk", hmac).catch((e) => e.name)), "\u0065\u0301".normalize().length); return out.join();`;
    expect(await attempt(body)).toBe("got string x,true,true,32,true,secret,20,InvalidAccessError,1");
  });

  attempts("MW-67: Error.prepareStackTrace stays out of tenants' hands", "got string string", [
    `Error.prepareStackTrace = (error, sites) => sites; return typeof new Error("x").stack`,
    `try { Object.defineProperty(Error, "prepareStackTrace", { value: (e, s) => s }); } catch {} return typeof new Error("x").stack`,
    `Error.prepareStackTrace = (error, sites) => sites; const o = {}; Error.captureStackTrace(o); return typeof o.stack`,
    `class E extends Error { static prepareStackTrace(e, s) { return s; } } return typeof new E("x").stack`,
  ]);
});

test("MW-77: two cells share no object, no symbol registry of the host and no global", async () => {
  const source = `globalThis.shared ??= 0; export default { fetch() { globalThis.shared++; Array.prototype.mine = 1; return Response.json([globalThis.shared, Symbol.for("x").secret === undefined]); } };`;
  await using one = new CellRig({ "main.js": source });
  await using two = new CellRig({ "main.js": source });
  await one.fetch("/");
  expect(await one.json("/")).toEqual([2, true]);
  expect(await two.json("/")).toEqual([1, true]);
});
