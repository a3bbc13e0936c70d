// Workers that call Workers, on a real node.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Deployed, eventually, TestNode } from "../support/node-rig.ts";

const TARGET = `
  let cancelled = 0;
  export default {
    async fetch(request, env, ctx) {
      const url = new URL(request.url);
      switch (url.pathname) {
        case "/report":
          return Response.json({
            url: request.url, method: request.method, headers: Object.fromEntries(request.headers),
            body: await request.text(), env: Object.keys(env), ctx: Object.keys(ctx),
          });
        case "/echo": return new Response(request.body, { headers: { "content-type": "text/x" } });
        case "/throw": throw new Error("sentinel-of-the-target");
        case "/nothing": return undefined;
        case "/teapot": return new Response("short and stout", { status: 418, statusText: "I'm a teapot", headers: [["set-cookie", "a=1"], ["set-cookie", "b=2"]] });
        case "/endless":
          return new Response(new ReadableStream({
            pull(c) { c.enqueue(new Uint8Array(1000)); },
            cancel() { cancelled += 1; },
          }));
        case "/cancelled": return new Response(String(cancelled));
      }
      return new Response("not there", { status: 404 });
    },
  };`;

let node: TestNode;
let target: Deployed;
beforeAll(async () => {
  node = await TestNode.start();
  target = await node.deploy({ files: TARGET, vars: { PRIVATE: 1 } });
});
afterAll(async () => node[Symbol.asyncDispose]());

const caller = (fetchBody: string, more: { services?: Record<string, string> } = {}) =>
  node.deploy({
    files: `export default { async fetch(request, env, ctx) { const url = new URL(request.url); ${fetchBody} } };`,
    vars: { MINE: "caller's own" },
    secrets: { TOKEN: "sentinel-of-the-caller" },
    services: more.services ?? { TARGET: target.worker },
  });

describe("calls", () => {
  test("MW-70, MW-72, MW-77: the uid decides, not the URL's host; the target gets nothing of the caller's", async () => {
    const worker = await caller(
      `return env.TARGET.fetch("http://10.0.0.1:99/report?x=%20", { method: "POST", body: "b", headers: { "x-a": "1" } });`,
    );
    const seen = await node.json(worker, "/", {
      headers: { cookie: "session=1", authorization: "Bearer user", "x-user": "ada" },
    });
    expect(seen).toMatchObject({
      url: "http://10.0.0.1:99/report?x=%20",
      method: "POST",
      body: "b",
      env: ["PRIVATE"],
      ctx: ["waitUntil"],
    });
    expect(seen.headers["x-a"]).toBe("1");
    expect(Object.keys(seen.headers)).not.toEqual(expect.arrayContaining(["cookie"]));
    expect(JSON.stringify(seen)).not.toMatch(/sentinel|session=1|Bearer user|ada|caller's own/);
  });

  test("WV-62: a Request is forwarded as it is; status, headers and cookies come back as they are", async () => {
    const worker = await caller(`return env.TARGET.fetch(request);`);
    const response = await node.fetch(worker, "/teapot");
    expect([response.status, await response.text()]).toEqual([418, "short and stout"]);
    expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    const seen = await node.json(worker, "/report?q=1", { method: "PUT", body: "forwarded" });
    expect(seen).toMatchObject({ method: "PUT", body: "forwarded" });
    expect(new URL(seen.url).host).toBe(worker.hostname);
  });

  test("MW-73: both bodies stream: the answer begins before the request has ended", async () => {
    const worker = await caller(`
      const { readable, writable } = new TransformStream();
      const writer = writable.getWriter();
      const response = env.TARGET.fetch("https://t/echo", { method: "POST", body: readable, duplex: "half" });
      writer.write(new TextEncoder().encode("one "));
      const reader = (await response).body.getReader();
      const first = new TextDecoder().decode((await reader.read()).value);
      writer.write(new TextEncoder().encode("two"));
      writer.close();
      let rest = "";
      for (;;) { const { done, value } = await reader.read(); if (done) break; rest += new TextDecoder().decode(value); }
      return Response.json([first, rest]);`);
    expect(await node.json(worker)).toEqual(["one ", "two"]);
  });

  test("MW-73: a cancelled answer stops the target's stream", async () => {
    const worker = await caller(`
      if (url.pathname === "/count") return env.TARGET.fetch("https://t/cancelled");
      const response = await env.TARGET.fetch("https://t/endless");
      const reader = response.body.getReader();
      await reader.read();
      await reader.cancel();
      return new Response("enough");`);
    expect(await node.text(worker, "/")).toBe("enough");
    await eventually(async () => (await node.text(worker, "/count")) === "1", "the target's stream goes on");
  });

  test("MW-74: what the target throws is its own 500 and resolves", async () => {
    const worker = await caller(`
      const responses = await Promise.all(["/throw", "/nothing"].map((path) => env.TARGET.fetch("https://t" + path)));
      return Response.json(await Promise.all(responses.map(async (r) => [r.status, await r.text()])));`);
    const answers = await node.json(worker);
    expect(answers.map(([status]: [number]) => status)).toEqual([500, 500]);
    expect(JSON.stringify(answers)).not.toContain("sentinel");
  });

  test("MW-75, MW-A8: without a Deployment the call rejects with backend_unavailable, and works once there is one", async () => {
    const lonely = await node.worker();
    const worker = await caller(
      `try { return await env.LONELY.fetch("https://t/"); }
       catch (error) { return new Response(error.name + "," + (error instanceof Error)); }`,
      { services: { LONELY: lonely } },
    );
    expect(await node.text(worker)).toBe("backend_unavailable,true");
    const version = await node.version(lonely, "export default { fetch: () => new Response('here now') };");
    await node.deployment(lonely, { [version]: 10_000 });
    expect(await node.text(worker)).toBe("here now");
  });

  test("MW-70: the target's active Deployment at the time of the call picks the Version", async () => {
    const one = await node.deploy("export default { fetch: () => new Response('one') };");
    const worker = await caller(`return env.ONE.fetch("https://t/");`, { services: { ONE: one.worker } });
    expect(await node.text(worker)).toBe("one");
    const two = await node.version(one.worker, "export default { fetch: () => new Response('two') };");
    await node.switch(one, { [two]: 10_000 });
    expect(await node.text(worker)).toBe("two");
  });

  test("MW-75: an argument that makes no request rejects as the caller's mistake, not as the target's absence", async () => {
    const worker = await caller(`
      try { return await env.TARGET.fetch("not a url"); } catch (error) { return Response.json(error.name); }`);
    expect(await node.json(worker)).toBe("TypeError");
  });
});

describe("loops", () => {
  test("a Worker that calls itself without end is stopped by the Host, visibly, and everything answers afterwards", async () => {
    const worker = await node.worker();
    const version = await node.version(worker, {
      files: `
        export default {
          async fetch(request, env) {
            const depth = Number(request.headers.get("x-depth") ?? 0);
            try { return await env.SELF.fetch("https://self/", { headers: { "x-depth": String(depth + 1) } }); }
            catch (error) { return new Response(error.name + " at " + depth); }
          },
        };`,
      services: { SELF: worker },
    });
    await node.deployment(worker, { [version]: 10_000 });
    const { hostname } = await node.endpoint(worker);
    const text = await node.text({ hostname });
    expect(text).toMatch(/^backend_unavailable at \d+$/);
    expect(Number(text.split(" ").at(-1))).toBeLessThanOrEqual(64);
    expect(await node.text({ hostname })).toBe(text);
  });

  for (const [how, calls] of [
    ["at once", "await Promise.allSettled([env.OTHER.fetch('https://o/'), env.OTHER.fetch('https://o/')])"],
    ["one by one", "[await call(env), await call(env), await call(env)]"],
  ] as const) {
    test(`a loop that branches ${how} ends soon, because all that one event leads to shares one budget of calls`, async () => {
      const [a, b] = [await node.worker(), await node.worker()];
      const files = `
        const call = (env) => env.OTHER.fetch("https://o/").then((r) => r.text(), (error) => error.name);
        let runs = 0;
        export default {
          async fetch(request, env) {
            if (new URL(request.url).pathname === "/runs") return new Response(String(runs));
            runs += 1;
            ${calls};
            return new Response("done");
          },
        };`;
      const versionA = await node.version(a, { files, services: { OTHER: b } });
      const versionB = await node.version(b, { files, services: { OTHER: a } });
      await node.deployment(a, { [versionA]: 10_000 });
      await node.deployment(b, { [versionB]: 10_000 });
      const { hostname } = await node.endpoint(a);
      const storm = node.text({ hostname });
      expect(await node.text(target, "/missing")).toBe("not there");
      expect(await storm).toBe("done");
      expect(Number(await node.text({ hostname }, "/runs"))).toBeLessThanOrEqual(1_001);
      expect(await node.text(target, "/missing")).toBe("not there");
    });
  }
});

test("MW-78: the reference is nothing but fetch", async () => {
  const worker = await caller(`
    const service = env.TARGET;
    let chain = [];
    for (let object = service; object && object !== Object.prototype; object = Object.getPrototypeOf(object)) chain.push(...Reflect.ownKeys(object).map(String));
    return Response.json({ chain, type: typeof service.fetch });`);
  expect(await node.json(worker)).toEqual({ chain: ["fetch"], type: "function" });
});
