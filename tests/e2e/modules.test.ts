// What module Workers are made of: media types, resolution, handlers and `env`, on a real node over HTTP.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { WORKER_ENDPOINT } from "../../control/forms/form-urls.ts";
import { endpointSpec } from "../support/forms/chain.ts";
import { eventually, TestNode } from "../support/node-rig.ts";

let node: TestNode;
beforeAll(async () => {
  node = await TestNode.start();
});
afterAll(async () => node[Symbol.asyncDispose]());

/** A module that exports `add(a, b)`. */
const ADD_WASM = Uint8Array.from(
  [
    [0, 97, 115, 109, 1, 0, 0, 0],
    [1, 7, 1, 96, 2, 127, 127, 1, 127],
    [3, 2, 1, 0],
    [7, 7, 1, 3, 97, 100, 100, 0, 0],
    [10, 9, 1, 7, 0, 32, 0, 32, 1, 106, 11],
  ].flat(),
);

describe("modules", () => {
  test("MW-19, MW-25 … MW-28, MW-31: the entrypoint runs, and each media type is what the ABI says it is", async () => {
    const worker = await node.deploy({
      files: {
        "src/main.js": `
          import text, * as textModule from "./greeting.txt";
          import bytes from "../data/raw.bin";
          import wasm from "/data/add.wasm";
          import { answer } from "./lib/answer.js";
          export default {
            async fetch() {
              const instance = await WebAssembly.instantiate(wasm, {});
              return Response.json({
                text,
                exports: Object.keys(textModule),
                isBuffer: bytes instanceof ArrayBuffer,
                bytes: [...new Uint8Array(bytes)],
                isModule: wasm instanceof WebAssembly.Module,
                sum: instance.exports.add(40, 2),
                answer,
              });
            },
          };`,
        "src/greeting.txt": "grüß Gott 🌍",
        "data/raw.bin": Uint8Array.of(0, 255, 128, 10),
        "data/add.wasm": ADD_WASM,
        "src/lib/answer.js": "export const answer = 42;",
      },
    });
    expect(await node.json(worker)).toEqual({
      text: "grüß Gott 🌍",
      exports: ["default"],
      isBuffer: true,
      bytes: [0, 255, 128, 10],
      isModule: true,
      sum: 42,
      answer: 42,
    });
  });

  test("MW-34 … MW-40, MW-42: resolution is exact, and a dynamic import that fails rejects with the matching name", async () => {
    const worker = await node.deploy({
      files: {
        "main.js": `
          export { default as reExported } from "./a/b.js";
          export default {
            async fetch(request) {
              const specifier = await request.text();
              try {
                return Response.json({ value: (await import(specifier)).default });
              } catch (error) {
                return Response.json({ name: error.name });
              }
            },
          };`,
        "a/b.js": "export default 'b';",
        "a/index.js": "export default 'index';",
        "a/B%20C.js": "export default 'escaped';",
        "a/b.js.map": "{}",
      },
    });
    const load = (specifier: string) => node.json(worker, "/", { method: "POST", body: specifier });
    for (const [specifier, value] of [
      ["./a/b.js", "b"],
      ["/a/b.js", "b"],
      ["./a/./b.js", "b"],
      ["./x/../a/b.js", "b"],
      ["./a/B%20C.js", "escaped"],
    ] as const) {
      expect([specifier, await load(specifier)]).toEqual([specifier, { value }]);
    }
    for (const specifier of [
      "./a/b",
      "./a",
      "./a/",
      "./A/b.js",
      "./a//b.js",
      "./a/b.js?x",
      "./a/b.js#x",
      ".\\a\\b.js",
      "../main.js",
      "./a/B C.js",
      "a/b.js",
      "node:fs",
      "fs",
      "bun:ffi",
      "https://example.com/a.js",
      "http://127.0.0.1/a.js",
      "data:text/javascript,export default 1",
      "file:///etc/passwd",
      "blob:x",
      "",
    ]) {
      expect([specifier, await load(specifier)]).toEqual([specifier, { name: "module_not_found" }]);
    }
    expect(await load("./a/b.js.map")).toEqual({ name: "unsupported_media_type" });
  });

  test("MW-43: cyclic modules follow live bindings", async () => {
    const worker = await node.deploy({
      files: {
        "main.js": `
          import { even } from "./even.js";
          export default { fetch: (request) => new Response(String(even(Number(new URL(request.url).search.slice(1))))) };`,
        "even.js": `import { odd } from "./odd.js"; export const even = (n) => n === 0 || odd(n - 1);`,
        "odd.js": `import { even } from "./even.js"; export const odd = (n) => n !== 0 && even(n - 1);`,
      },
    });
    expect([await node.text(worker, "/?10"), await node.text(worker, "/?7")]).toEqual(["true", "false"]);
  });
});

describe("env", () => {
  test("MW-65, WV-53: the own enumerable keys are the variables, secrets and Bindings, and nothing else", async () => {
    const target = await node.deploy("export default { fetch: () => new Response('target') };");
    const worker = await node.deploy({
      files: `
        export default {
          async fetch(request, env) {
            const keys = [];
            for (const key in env) keys.push(key);
            return Response.json({
              keys: Object.keys(env).sort(),
              all: keys.sort(),
              own: Reflect.ownKeys(env).sort(),
              values: [env.TEXT, env.deep, env.nothing, env.TOKEN],
              answer: await (await env.TARGET.fetch("https://x/")).text(),
            });
          },
        };`,
      vars: { TEXT: "t", deep: { list: [1, null, true, { "a.b": "ü" }] }, nothing: null },
      secrets: { TOKEN: "s3cr3t-ä" },
      services: { TARGET: target.worker },
    });
    const keys = ["TARGET", "TEXT", "TOKEN", "deep", "nothing"];
    expect(await node.json(worker)).toEqual({
      keys,
      all: keys,
      own: keys,
      values: ["t", { list: [1, null, true, { "a.b": "ü" }] }, null, "s3cr3t-ä"],
      answer: "target",
    });
  });

  test("MW-68: the minimum globals are there and work together", async () => {
    const worker = await node.deploy(`
      export default {
        async fetch(request) {
          const names = ["Request", "Response", "Headers", "URL", "URLSearchParams", "ReadableStream", "TextEncoder",
            "TextDecoder", "AbortController", "AbortSignal", "crypto", "fetch", "console", "setTimeout", "clearTimeout",
            "setInterval", "clearInterval"];
          const missing = names.filter((name) => globalThis[name] === undefined);
          const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode("abc")));
          const ticks = await new Promise((resolve) => {
            let n = 0;
            const timer = setInterval(() => { if (++n === 3) { clearInterval(timer); resolve(n); } }, 1);
          });
          const cancelled = await Promise.race([
            new Promise((resolve) => { clearTimeout(setTimeout(() => resolve("late"), 1)); }),
            new Promise((resolve) => { setTimeout(() => resolve("cancelled"), 20); }),
          ]);
          const abort = new AbortController();
          abort.abort(new Error("why"));
          console.log("said by the Worker");
          return Response.json({
            missing,
            instance: request instanceof Request,
            digest: digest[0],
            ticks,
            cancelled,
            aborted: abort.signal instanceof AbortSignal && abort.signal.reason.message,
            query: new URLSearchParams(new URL(request.url).search).get("q"),
          });
        },
      };`);
    expect(await node.json(worker, "/?q=%C3%A4")).toEqual({
      missing: [],
      instance: true,
      digest: 0xba,
      ticks: 3,
      cancelled: "cancelled",
      aborted: "why",
      query: "ä",
    });
    await node.logged("said by the Worker");
  });
});

describe("handlers", () => {
  test("MW-48: whatever is thrown or returned instead of a Response is a 500 that tells nothing", async () => {
    const worker = await node.deploy(`
      const cases = {
        "/throw": () => { throw new Error("sentinel-confidential"); },
        "/reject": async () => { throw "sentinel-confidential"; },
        "/string": () => "sentinel-confidential",
        "/undefined": () => undefined,
        "/lookalike": () => ({ status: 200, body: "sentinel-confidential", headers: new Headers() }),
        "/used": async () => { const r = new Response("sentinel-confidential"); await r.text(); return r; },
        "/thenable": () => ({ then(resolve) { resolve(new Response("fine")); } }),
        "/error": () => Response.error(),
        "/hostile": () => { throw { get message() { throw new Error("sentinel-confidential"); }, get stack() { for (;;) throw 1; } }; },
      };
      export default { fetch: (request) => cases[new URL(request.url).pathname]() };`);
    for (const path of ["/throw", "/reject", "/string", "/undefined", "/lookalike", "/used", "/error", "/hostile"]) {
      const response = await node.fetch(worker, path);
      const text = await response.text();
      expect([path, response.status]).toEqual([path, 500]);
      expect(text + JSON.stringify([...response.headers])).not.toMatch(/sentinel|worker:|\.js|\.ts/);
    }
    expect(await node.text(worker, "/thenable")).toBe("fine");
  });

  test("WE-6, WV-28: a Version without handlers is legal, and a Worker of such gets no endpoint", async () => {
    const files = `
      export const fetch = () => new Response("a named export is no handler");
      export default { other() {} };`;
    const worker = await node.worker();
    const version = await node.version(worker, { files, handlers: [] });
    await node.deployment(worker, { [version]: 10_000 });
    expect(await node.api.verdict(node.api.create(WORKER_ENDPOINT, endpointSpec(worker)))).toBe(
      "409 dependency_conflict",
    );
  });
});

describe("ctx", () => {
  test("MW-50, MW-51, MW-52: waitUntil keeps the work going after the response, cannot change it, and expires with it", async () => {
    const worker = await node.deploy(`
      let done = 0;
      let open;
      let saved;
      export default {
        async fetch(request, env, ctx) {
          switch (new URL(request.url).pathname) {
            case "/start":
              ctx.waitUntil(new Promise((resolve) => { open = resolve; }).then(() => { done += 1; }));
              return new Response("answered");
            case "/release": open(); return new Response(null);
            case "/done": return new Response(String(done));
            case "/reject": ctx.waitUntil(Promise.reject(new Error("late trouble"))); return new Response("unharmed");
            case "/save": saved = ctx; return new Response("saved");
            case "/chain":
              ctx.waitUntil((async () => { await 0; ctx.waitUntil(new Promise((r) => setTimeout(r, 5)).then(() => { done += 10; })); })());
              return new Response("chained");
            case "/expired":
              try { saved.waitUntil(Promise.resolve()); return new Response("no error"); }
              catch (error) { return new Response(error.name); }
          }
        },
      };`);
    expect(await node.text(worker, "/start")).toBe("answered");
    expect(await node.text(worker, "/done")).toBe("0");
    await node.text(worker, "/release");
    expect(await node.text(worker, "/done")).toBe("1");

    const from = node.log.length;
    expect(await node.text(worker, "/reject")).toBe("unharmed");
    await node.logged("late trouble", from);

    await node.text(worker, "/save");
    expect(await node.text(worker, "/expired")).toBe("context_expired");
    await node.text(worker, "/chain");
    await eventually(async () => (await node.text(worker, "/done")) === "11", "work added by waitUntil's own is lost");
  });
});
