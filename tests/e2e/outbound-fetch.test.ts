// What Workers reach on the network, and what they do not, through a real node and a real origin on loopback.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Deployed, eventually, TestNode } from "../support/node-rig.ts";

/** Reports what it was asked; `/redirect?to=` sends on, `/slow` never ends. */
const origin = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  idleTimeout: 0,
  async fetch(request) {
    const url = new URL(request.url);
    if (url.pathname === "/redirect") return Response.redirect(url.searchParams.get("to") ?? "", 302);
    if (url.pathname === "/endless") return new Response(endless(request));
    return Response.json({
      method: request.method,
      path: url.pathname + url.search,
      headers: Object.fromEntries(request.headers),
      body: await request.text(),
    });
  },
});
let endlessEnded = 0;

function endless(request: Request): ReadableStream<Uint8Array> {
  let ended = false;
  const note = (): void => {
    if (!ended) endlessEnded += 1;
    ended = true;
  };
  request.signal.addEventListener("abort", note);
  return new ReadableStream({
    async pull(controller) {
      await Bun.sleep(2);
      controller.enqueue(new Uint8Array(1024));
    },
    cancel: note,
  });
}

/** Fetches what the body says and answers with what came of it. */
const FETCHER = `
  export default {
    async fetch(request) {
      const { url, init } = await request.json();
      try {
        const response = await fetch(url, init);
        return Response.json({
          status: response.status,
          url: response.url,
          redirected: response.redirected,
          location: response.headers.get("location"),
          text: await response.text(),
        });
      } catch (error) {
        return Response.json({ name: error.name, isTypeError: error instanceof TypeError, message: error.message });
      }
    },
  };`;

const here = `http://127.0.0.1:${origin.port}`;
let guarded: TestNode;
let open: TestNode;
let guardedWorker: Deployed;
let openWorker: Deployed;

beforeAll(async () => {
  [guarded, open] = await Promise.all([
    TestNode.start(),
    TestNode.start({ config: { egress: { allow: [`127.0.0.1:${origin.port}`] } } }),
  ]);
  [guardedWorker, openWorker] = await Promise.all([guarded.deploy(FETCHER), open.deploy(FETCHER)]);
});
afterAll(async () => {
  await Promise.all([guarded[Symbol.asyncDispose](), open[Symbol.asyncDispose](), origin.stop(true)]);
});

const ask = (node: TestNode, worker: Deployed, url: string, init: object = {}) =>
  node.json(worker, "/", { method: "POST", body: JSON.stringify({ url, init }) });

describe("without permission", () => {
  test("MW-69: loopback, private, link-local and metadata addresses are refused with a TypeError that says so", async () => {
    const port = origin.port;
    for (const url of [
      here,
      `http://localhost:${port}/`,
      `http://[::1]:${port}/`,
      `http://[::ffff:127.0.0.1]:${port}/`,
      `http://0.0.0.0:${port}/`,
      `http://127.1:${port}/`,
      `http://2130706433:${port}/`,
      `http://0x7f000001:${port}/`,
      "http://10.0.0.1/",
      "http://192.168.1.1/",
      "http://172.16.0.1/",
      "http://169.254.169.254/latest/meta-data/",
      "http://[fd00:ec2::254]/",
      "http://100.64.0.1/",
      guarded.ready.http,
    ]) {
      const answer = await ask(guarded, guardedWorker, url);
      expect([url, answer.isTypeError, answer.name]).toEqual([url, true, "TypeError"]);
      expect(answer.message).toMatch(/does not connect to this destination|port of this URL is blocked/);
    }
  });

  test("MW-69: schemes that reach the machine instead of the network are refused", async () => {
    for (const url of ["file:///etc/passwd", "ftp://example.com/", "s3://bucket/key", "unix:///run/x.sock"]) {
      expect([url, await ask(guarded, guardedWorker, url)]).toMatchObject([url, { isTypeError: true }]);
    }
    for (const init of [{ unix: "/run/docker.sock" }, { proxy: here }]) {
      const answer = await ask(guarded, guardedWorker, here, init);
      expect(answer).toMatchObject({ isTypeError: true });
    }
  });
});

describe("with permission", () => {
  test("MW-69: what the operator allows is reached, with method, headers and body as the Worker said", async () => {
    const init = { method: "PATCH", headers: { "x-mine": "1", authorization: "Bearer t" }, body: "sent" };
    const answer = await ask(open, openWorker, `${here}/a%2Fb?q=%20`, init);
    expect(answer).toMatchObject({ status: 200, redirected: false, url: `${here}/a%2Fb?q=%20` });
    const seen = JSON.parse(answer.text) as { headers: Record<string, string> };
    expect(seen).toMatchObject({ method: "PATCH", path: "/a%2Fb?q=%20", body: "sent" });
    expect(seen.headers).toMatchObject({ "x-mine": "1", authorization: "Bearer t" });
    expect(JSON.stringify(seen)).not.toMatch(/Bun|atoll\.localhost|x-forwarded/i);
  });

  test("MW-69: permission for one port is none for another, and every hop of a redirect is judged", async () => {
    using other = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("must not be seen") });
    const there = `http://127.0.0.1:${other.port}/`;
    expect(await ask(open, openWorker, there)).toMatchObject({ isTypeError: true });
    const redirect = `${here}/redirect?to=${encodeURIComponent(there)}`;
    expect(await ask(open, openWorker, redirect)).toMatchObject({ isTypeError: true });
    expect(await ask(open, openWorker, redirect, { redirect: "manual" })).toMatchObject({
      status: 302,
      location: there,
    });
    const allowed = `${here}/redirect?to=${encodeURIComponent(`${here}/next`)}`;
    expect(await ask(open, openWorker, allowed)).toMatchObject({ status: 200, redirected: true, url: `${here}/next` });
    expect(await ask(open, openWorker, allowed, { redirect: "error" })).toMatchObject({ isTypeError: true });
  });

  test("streams both ways, and an abort by the Worker or by its client reaches the origin", async () => {
    const worker = await open.deploy(`
      export default {
        async fetch(request, env) {
          const url = new URL(request.url);
          const origin = ${JSON.stringify(here)};
          if (url.pathname === "/pass") return fetch(origin + "/endless");
          const abort = new AbortController();
          const response = await fetch(origin + "/endless", { signal: abort.signal });
          const reader = response.body.getReader();
          await reader.read();
          abort.abort();
          return new Response(await reader.read().then(() => "went on", (error) => error.name));
        },
      };`);
    const before = endlessEnded;
    expect(await open.text(worker, "/abort")).toBe("AbortError");
    await eventually(() => endlessEnded === before + 1, "the origin never learns of the abort");

    const response = await open.fetch(worker, "/pass");
    const reader = response.body!.getReader();
    expect((await reader.read()).value?.byteLength).toBeGreaterThan(0);
    await reader.cancel();
    await eventually(() => endlessEnded === before + 2, "the origin never learns that the client went away");
  });

  test("a refused connection is a TypeError too, without any detail of the host", async () => {
    const gone = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
    const port = gone.port;
    await gone.stop(true);
    await using node = await TestNode.start({ config: { egress: { allow: ["127.0.0.1"] } } });
    const worker = await node.deploy(FETCHER);
    const answer = await ask(node, worker, `http://127.0.0.1:${port}/`);
    expect(answer).toMatchObject({ isTypeError: true });
    expect(answer.message).not.toMatch(/ECONN|node_modules|\.ts/);
  });
});
