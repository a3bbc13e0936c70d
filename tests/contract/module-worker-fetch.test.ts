// ModuleWorker, chapter 5: the fetch handler in a real cell, its Request, its Response and what goes wrong.
import { describe, expect, test } from "bun:test";
import { CellRig, handlerRig, pairs, readAnswer } from "../support/cell-rig.ts";

const ok = (body: string) => `return Response.json(${body});`;

describe("Request", () => {
  test("MW-44: method, URL, headers and body arrive as sent", async () => {
    await using rig = handlerRig(
      ok(
        `[request.method, request.url, [...request.headers], await request.text(), request instanceof Request, request.redirect]`,
      ),
    );
    const found = await rig.json("/a?b=%20c#d", {
      method: "PUT",
      body: "grüß",
      headers: [
        ["x-one", "1"],
        ["x-two", "a, b"],
      ],
    });
    expect(found).toEqual([
      "PUT",
      "https://worker.example/a?b=%20c#d",
      [
        ["x-one", "1"],
        ["x-two", "a, b"],
      ],
      "grüß",
      true,
      "manual",
    ]);
  });

  test("MW-44: without a body there is none", async () => {
    await using rig = handlerRig(ok("[request.body, await request.text(), request.bodyUsed]"));
    expect(await rig.json("/")).toEqual([null, "", false]);
  });

  test("MW-68: clone, json, formData, arrayBuffer and blob read the same bytes", async () => {
    await using rig = handlerRig(
      `const copies = [request.clone(), request.clone(), request.clone()];
       return Response.json([await request.json(), (await copies[0].arrayBuffer()).byteLength, (await copies[1].blob()).size, await copies[2].text()]);`,
    );
    expect(await rig.json("/", { body: `{"a":1}` })).toEqual([{ a: 1 }, 7, 7, `{"a":1}`]);
    await using form = handlerRig("const form = await request.formData(); return Response.json([...form]);");
    const headers = [["content-type", "application/x-www-form-urlencoded"]] as const;
    expect(await form.json("/", { body: "a=1&b=%C3%BC", headers })).toEqual([
      ["a", "1"],
      ["b", "ü"],
    ]);
  });

  test("MW-44: several headers of one name and odd bytes survive both ways", async () => {
    await using rig = handlerRig("return new Response(null, { headers: request.headers });");
    const { headers } = await rig.fetch("/", {
      headers: [
        ["x-odd", "caf\u00e9 \u00ff"],
        ["x-long", "v".repeat(60_000)],
      ],
    });
    expect(headers).toEqual([
      ["x-long", "v".repeat(60_000)],
      ["x-odd", "caf\u00e9 \u00ff"],
    ]);
  });
});

describe("Response", () => {
  const cases: readonly (readonly [string, string, number, string])[] = [
    ["a string", "return new Response('x');", 200, "x"],
    ["null", "return new Response(null);", 200, ""],
    ["nothing", "return new Response();", 200, ""],
    ["an empty string", "return new Response('');", 200, ""],
    ["bytes", "return new Response(new Uint8Array([120, 121]).subarray(1));", 200, "y"],
    ["a buffer", "return new Response(new Uint8Array([120]).buffer);", 200, "x"],
    ["a blob", "return new Response(new Blob(['x', 'y']));", 200, "xy"],
    ["URLSearchParams", "return new Response(new URLSearchParams({ a: 'b' }));", 200, "a=b"],
    ["a number as text", "return new Response(5);", 200, "5"],
    ["Response.json", "return Response.json({ a: 1 }, { status: 201 });", 201, `{"a":1}`],
    ["Response.redirect", "return Response.redirect('https://x.example/');", 302, ""],
    ["204", "return new Response(null, { status: 204 });", 204, ""],
    ["304", "return new Response(null, { status: 304 });", 304, ""],
    [
      "a subclass",
      "class Mine extends Response { get extra() { return 1; } } const r = new Mine('x'); return r.extra === 1 && r instanceof Response ? r : null;",
      200,
      "x",
    ],
    ["a clone", "const r = new Response('x'); await r.clone().text(); return r.clone();", 200, "x"],
    ["the original of a read clone", "const r = new Response('x'); await r.clone().text(); return r;", 200, "x"],
    ["a body that was looked at", "const r = new Response('x'); r.body; return r;", 200, "x"],
    ["a new one around a body", "return new Response(new Response('x').body, { status: 418 });", 418, "x"],
    ["a thenable", "return { then(resolve) { resolve(new Response('x')); } };", 200, "x"],
    [
      "a changed one",
      "const r = new Response('x', { headers: { a: '1' } }); r.headers.set('a', '2'); return new Response(r.body, r);",
      200,
      "x",
    ],
    ["599", "return new Response('x', { status: 599 });", 599, "x"],
    [
      "a stream of strings",
      "return new Response(new ReadableStream({ start(c) { c.enqueue(new TextEncoder().encode('x')); c.close(); } }));",
      200,
      "x",
    ],
    [
      "a byte stream",
      "return new Response(new ReadableStream({ type: 'bytes', start(c) { c.enqueue(new Uint8Array([120])); c.close(); } }));",
      200,
      "x",
    ],
    [
      "an async generator",
      "return new Response(ReadableStream.from((async function* () { yield new Uint8Array([120]); })()));",
      200,
      "x",
    ],
  ];
  test.each(cases.map((one) => [...one] as const))("MW-44: %s", async (_, body, status, text) => {
    await using rig = handlerRig(body);
    expect(await rig.fetch("/")).toMatchObject({ status, text });
  });

  test("MW-44: each cookie stays a header of its own", async () => {
    await using rig = handlerRig(
      "const r = new Response(null); r.headers.append('set-cookie', 'a=1; Path=/'); r.headers.append('set-cookie', 'b=2, c'); r.headers.append('x', '1'); r.headers.append('x', '2'); return r;",
    );
    expect((await rig.fetch("/")).headers.toSorted(([a], [b]) => a.localeCompare(b))).toEqual([
      ["set-cookie", "a=1; Path=/"],
      ["set-cookie", "b=2, c"],
      ["x", "1, 2"],
    ]);
  });

  test.each([
    ["undefined", "return undefined;"],
    ["null", "return null;"],
    ["a string", "return 'x';"],
    ["a plain object", "return { status: 200 };"],
    ["a forged object", "return Object.create(Response.prototype);"],
    ["a proxy of a Response", "return new Proxy(new Response('x'), {});"],
    ["a read Response", "const r = new Response('x'); await r.text(); return r;"],
    ["a locked Response", "const r = new Response('x'); r.body.getReader(); return r;"],
    ["a cancelled Response", "const r = new Response('x'); await r.body.cancel(); return r;"],
    ["Response.error()", "return Response.error();"],
    ["status 101", "return new Response(null, { status: 101 });"],
    ["status 199", "return new Response('x', { status: 199 });"],
    ["status 600", "return new Response('x', { status: 600 });"],
    ["204 with a body", "return new Response('x', { status: 204 });"],
    ["an Error", "return new Error('secret');"],
    ["a throw", "throw new Error('secret in /a/path');"],
    ["a throw of nothing", "throw undefined;"],
    ["a throw of a proxy", "throw new Proxy({}, { get() { throw 1; }, ownKeys() { throw 1; } });"],
    ["a rejection", "return Promise.reject(new Error('secret'));"],
    ["a thenable that throws", "return { get then() { throw new Error('secret'); } };"],
    ["a stack overflow", "const f = () => 1 + f(); return f();"],
    ["headers beyond reason", "return new Response('', { headers: { a: 'x'.repeat(300000) } });"],
  ])("MW-48: %s fails the handler, tells nothing, and leaves the cell alive", async (_, body) => {
    await using rig = handlerRig(`if (request.url.endsWith("/well")) return new Response("well"); ${body}`);
    const running = rig.start("/");
    const error = await running.result.then(
      () => null,
      (thrown: Error) => thrown,
    );
    expect([error?.name, error?.message]).toEqual(["HandlerFailed", ""]);
    expect(error?.cause).toBeUndefined();
    await running.ended;
    expect(rig.logs.map(({ level, invocation }) => [level, invocation])).toEqual([["error", running.id]]);
    expect(await rig.text("/well")).toBe("well");
    expect(rig.cell.running).toBe(0);
  });

  test("MW-20: a handler is called on its object, with one env for all", async () => {
    await using rig = new CellRig({
      "main.js":
        "export default { n: 7, fetch(request, env) { env.seen = (env.seen ?? 0) + 1; return Response.json([this.n, env.seen, arguments.length]); } };",
    });
    expect(await rig.json("/")).toEqual([7, 1, 3]);
    expect(await rig.json("/")).toEqual([7, 2, 3]);
  });
});

describe("env and globals", () => {
  test("MW-65: the own enumerable keys of env are exactly what is declared", async () => {
    await using rig = handlerRig(
      ok(
        "[Object.keys(env), Object.getOwnPropertyNames(env).length, env.A, env.__proto__, env.S, typeof env.PEER.fetch, Object.keys(env.PEER), JSON.stringify(env.J)]",
      ),
      {
        vars: JSON.parse(`{"A":"a","__proto__":"own","J":{"x":[1,null]}}`) as Record<string, unknown>,
        secrets: { S: "secret" },
        services: ["PEER"],
      },
    );
    expect(await rig.json("/")).toEqual([
      ["A", "__proto__", "J", "S", "PEER"],
      5,
      "a",
      "own",
      "secret",
      "function",
      ["fetch"],
      `{"x":[1,null]}`,
    ]);
  });

  test("MW-67: a module under inspection sees no secret and no variable", async () => {
    await using rig = new CellRig(
      { "main.js": "export default { fetch() {} };" },
      { inspect: true, vars: { A: 1 }, secrets: { S: "x" } },
    );
    expect(await rig.loaded()).toMatchObject({ ok: true });
  });

  test("MW-68: the minimum globals are there, and work", async () => {
    await using rig = handlerRig(
      `const names = ["Request", "Response", "Headers", "URL", "URLSearchParams", "ReadableStream", "TextEncoder", "TextDecoder", "AbortController", "AbortSignal", "crypto", "fetch", "console", "setTimeout", "clearTimeout", "setInterval", "clearInterval", "queueMicrotask", "structuredClone", "TransformStream", "WritableStream", "Blob", "FormData", "atob", "btoa", "Event", "EventTarget", "DOMException", "performance", "WebAssembly"];
       const missing = names.filter((name) => typeof globalThis[name] === "undefined");
       const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode("x"));
       let cleared = true; const t = setTimeout(() => { cleared = false; }, 1); clearTimeout(t);
       const order = []; setTimeout(() => order.push("timer"), 0); queueMicrotask(() => order.push("microtask")); await new Promise((r) => setTimeout((...args) => r(order.push(args.join())), 5, 1, 2));
       const controller = new AbortController(); const reason = await new Promise((r) => { controller.signal.addEventListener("abort", () => r(controller.signal.reason.name)); controller.abort(); });
       const clone = structuredClone({ a: new Map([[1, new Date(0)]]) });
       return Response.json([missing, new Uint8Array(hash).length, cleared, order, reason, clone.a.get(1) instanceof Date, crypto.randomUUID().length, new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array([195, 188])), typeof performance.now(), AbortSignal.timeout(5) instanceof AbortSignal]);`,
    );
    expect(await rig.json("/")).toEqual([
      [],
      32,
      true,
      ["microtask", "timer", "1,2"],
      "AbortError",
      true,
      36,
      "ü",
      "number",
      true,
    ]);
  });
});

describe("ctx", () => {
  test("MW-50 MW-51: follow-on work keeps the invocation open after its answer, and cannot change it", async () => {
    await using rig = handlerRig(
      `let go; globalThis.go ??= () => go(); if (request.url.endsWith("/go")) { globalThis.go(); return new Response(""); }
       ctx.waitUntil(new Promise((r) => { go = r; }).then(() => { console.log("done"); throw new Error("too late"); })); return new Response("answer");`,
    );
    const running = rig.start("/");
    expect((await readAnswer(await running.result)).text).toBe("answer");
    expect(rig.cell.running).toBe(1);
    await rig.text("/go");
    await running.ended;
    expect(rig.logs.map(({ message, invocation }) => [message.split("\n")[0], invocation])).toEqual([
      ["done", running.id],
      ["waitUntil rejected: Error: too late", running.id],
    ]);
  });

  test("MW-50: a chain of follow-on work, registered while the former runs", async () => {
    await using rig = handlerRig(
      `const step = (n) => ctx.waitUntil(new Promise((r) => setTimeout(r, 1)).then(() => { console.log(n); if (n < 3) step(n + 1); })); step(1); return new Response("");`,
    );
    const running = rig.start("/");
    await running.result;
    await running.ended;
    expect(rig.lines).toEqual(["1", "2", "3"]);
  });

  test("MW-52 MW-A10: registering on an expired ctx throws by name", async () => {
    await using rig = handlerRig(
      `if (globalThis.old === undefined) { globalThis.old = ctx; return new Response(""); }
       try { globalThis.old.waitUntil(Promise.resolve()); return new Response("accepted"); } catch (e) { return new Response(e.name + (e instanceof Error)); }`,
    );
    const first = rig.start("/");
    await first.result;
    await first.ended;
    expect(await rig.text("/")).toBe("context_expiredtrue");
  });

  test("MW-50: timers of an ended invocation do not fire", async () => {
    await using rig = handlerRig(
      `if (request.url.endsWith("/wait")) { await new Promise((r) => setTimeout(r, 30)); return new Response(String(globalThis.ticks ?? 0)); }
       setInterval(() => { globalThis.ticks = (globalThis.ticks ?? 0) + 1; }, 5); setTimeout(() => { globalThis.ticks = 100; }, 10); return new Response("");`,
    );
    const first = rig.start("/");
    await first.result;
    await first.ended;
    expect(await rig.text("/wait")).toBe("0");
  });
});

describe("events", () => {
  const source = (body: string) => `export default { async scheduled(event, env, ctx) { ${body} } };`;

  test("MW-45: scheduled gets its event, and may follow on", async () => {
    await using rig = new CellRig(
      {
        "main.js": source(
          "console.log(JSON.stringify([event.scheduledTime, event.cron, env.A])); ctx.waitUntil(Promise.resolve().then(() => console.log('after')));",
        ),
      },
      { vars: { A: 1 } },
    );
    await rig.loaded();
    const running = rig.cell.event(
      "scheduled",
      JSON.stringify({ scheduledTime: 1_700_000_000_000, cron: "*/5 * * * *" }),
    );
    await running.result;
    await running.ended;
    expect(rig.lines).toEqual([`[1700000000000,"*/5 * * * *",1]`, "after"]);
  });

  test("MW-49: a failure is a failure, never a response", async () => {
    await using rig = new CellRig({ "main.js": source("throw new Error('secret');") });
    await rig.loaded();
    const running = rig.cell.event("scheduled", "{}");
    expect(await running.result.catch((error: Error) => error.name)).toBe("HandlerFailed");
    await running.ended;
  });

  test("MW-21: a handler that is not there is not invented", async () => {
    await using rig = new CellRig({ "main.js": "export const scheduled = () => {}; export default { fetch() {} };" });
    await rig.loaded();
    expect(await rig.cell.event("scheduled", "{}").result.catch((error: Error) => error.name)).toBe("HandlerFailed");
  });
});

describe("log lines", () => {
  test("MW-51: each line carries the invocation that printed it, however they interleave", async () => {
    await using rig = handlerRig(
      `const id = new URL(request.url).pathname; for (let i = 0; i < 3; i++) { console.log(id); await new Promise((r) => setTimeout(r, Math.random() * 5)); await crypto.subtle.digest("SHA-1", new Uint8Array(8)); }
       ctx.waitUntil((async () => { await 0; console.warn(id); })()); queueMicrotask(() => console.error(id)); return new Response(new ReadableStream({ pull(c) { console.debug(id); c.close(); } }));`,
    );
    await rig.loaded();
    const all = Array.from({ length: 20 }, (_, i) => ({ path: `/${i}`, running: rig.start(`/${i}`) }));
    for (const { running } of all) {
      await readAnswer(await running.result);
      await running.ended;
    }
    for (const { path, running } of all) {
      const mine = rig.logs.filter(({ invocation }) => invocation === running.id);
      expect(mine.map(({ message }) => message)).toEqual(Array.from({ length: 6 }, () => path));
      expect(mine.map(({ level }) => level).toSorted()).toEqual(["debug", "error", "info", "info", "info", "warn"]);
    }
    expect(rig.logs.length).toBe(120);
  });

  test("MW-51: values are shown without running their code, within bounds", async () => {
    await using rig = handlerRig(
      `const circular = { name: "c" }; circular.self = circular; const deep = { a: { b: { c: { d: { e: 1 } } } } };
       console.log("%s is %d%% of %j %o", "x", 5, { a: 1 }, [1], "rest"); console.log(circular, deep, [1, "two", null, undefined, 3n, Symbol("s")], () => {}, class A {});
       console.log({ get trap() { console.log("ran"); return 1; } }, new Proxy({}, { ownKeys() { throw new Error("trap"); } })); console.log("y".repeat(20000)); console.log();
       return new Response("");`,
    );
    await rig.text("/");
    expect(rig.lines.slice(0, 3)).toEqual([
      `x is 5% of { a: 1 } [ 1 ] rest`,
      `{ name: "c", self: [Circular] } { a: { b: { c: { d: [Object] } } } } [ 1, "two", null, undefined, 3n, Symbol(s) ] [Function] [Function: A]`,
      `{ trap: [Getter] } [Unprintable]`,
    ]);
    expect(rig.lines[3]?.length).toBe(16_385);
    expect(rig.lines[4]).toBe("");
  });

  test("MW-51: stacks name the tenant's own places, with right columns, and nothing of the host's", async () => {
    await using rig = new CellRig({
      "main.js": `export default { fetch() { console.log(new Error("here")); return new Response(""); } };`,
    });
    await rig.text("/");
    const [, frame = ""] = rig.lines[0]?.split("\n") ?? [];
    expect(rig.lines[0]?.split("\n").length).toBe(2);
    expect(frame).toMatch(/^ {4}at fetch \(worker:\/\/\/main\.js:1:(4[3-9]|5\d)\)$/);
  });

  test("MW-48: no stack that tenant code can see has a path of the host", async () => {
    await using rig = new CellRig(
      {
        "main.js": `
        export const atTop = new Error("top").stack; const stacks = [atTop];
        const note = (error) => { stacks.push(error?.stack ?? "", error?.sourceURL ?? "", String(error?.message)); };
        const caught = async (f) => { try { await f(); } catch (e) { note(e); } };
        export default { async fetch(request, env, ctx) {
          note(new Error("x")); await 0; note(new Error("y")); setTimeout(() => note(new Error("timer")), 0);
          const deep = () => { try { console.log("x"); } catch (e) { note(e); } deep(); };
          await caught(deep); await caught(() => import("./throws.js")); await caught(() => import("./bad.js")); await caught(() => import("node:fs")); await caught(() => fetch("nowhere")); await caught(() => fetch("https://x.example/"));
          await caught(() => structuredClone(() => {})); await caught(() => crypto.subtle.digest("none", new Uint8Array(1))); await caught(() => new Response("{").json()); await caught(() => null.x); await caught(() => eval("1")); await caught(() => WebAssembly.compile(new Uint8Array(3))); await caught(() => ctx.waitUntil.call(null)); await caught(() => new Proxy({}, 1)); await caught(() => env.PEER.fetch("https://x/"));
          const o = {}; Error.captureStackTrace(o); stacks.push(o.stack); note(new DOMException("a", "b")); await new Promise((r) => setTimeout(r, 5)); request.signal.addEventListener("abort", () => note(new Error("abort")));
          await caught(() => (await_ => { throw new AggregateError([new Error("z")]); })());
          return Response.json([...stacks, (await import("./stack.js")).default]);
        } };`,
        "throws.js": "throw new Error('at the top');",
        "bad.js": "syntax error",
        "stack.js": "export default new Error('module').stack;",
      },
      { services: ["PEER"] },
    );
    await rig.loaded();
    const stacks = (await rig.json("/")) as string[];
    expect(stacks.length).toBeGreaterThan(50);
    for (const stack of stacks) {
      for (const line of stack.split("\n")) {
        // A frame says where in the tenant's module it is, or names no file at all.
        expect(line.replaceAll(/worker:\/\/\/[\w.]+/g, "")).not.toMatch(
          /[\w.-]+\/[\w.-]+\.[jt]s|file:|\/(home|usr|tmp|work|var|root)\b|thread-main|cell-side|linker\.ts/,
        );
      }
    }
  });
});

test("MW-69: calls are possible only while an event is handled", async () => {
  await using rig = new CellRig(
    {
      "main.js": `const tell = (e) => e.name + ": " + e.message; let top = "none"; try { await fetch("https://x.example/"); } catch (e) { top = tell(e); }
        let kept; export default { async fetch(request, env) { const found = [top]; if (request.url.endsWith("/first")) { kept = env; globalThis.later = new Promise((r) => { globalThis.go = r; }).then(() => kept.PEER.fetch("https://x/")).catch(tell); return new Response(""); }
        globalThis.go(); return Response.json([top, await globalThis.later]); } };`,
    },
    { services: ["PEER"] },
  );
  expect(await rig.loaded()).toMatchObject({ ok: true });
  const first = rig.start("/first");
  await first.result;
  await first.ended;
  expect(await rig.json("/")).toEqual([
    "TypeError: calls are possible only while an event is handled",
    "backend_unavailable: calls are possible only while an event is handled",
  ]);
  expect(rig.calls.length).toBe(0);
});

test("pairs() reads what the protocol writes", () => {
  expect(pairs("a\0b\0c\0")).toEqual([
    ["a", "b"],
    ["c", ""],
  ]);
});
