import { describe, expect, test } from "bun:test";
import { gunzipSync, gzipSync } from "node:zlib";
import { type OutboundRequest, TenantFetch } from "../../../../runtime/egress/tenant-fetch.ts";
import { cannedOrigin, rawOrigin } from "../../../support/raw-origin.ts";
import { rejection, rejectionCode } from "../../../support/rejection.ts";
import { client, never, OK, textOf } from "../../../support/vetted-client.ts";

function outbound(url: string, more: Partial<OutboundRequest> = {}): OutboundRequest {
  return { method: "GET", url, headers: [], body: null, redirect: "follow", ...more };
}

/** An origin in Bun's own server; `seen` are the requests it got. */
function origin(answer: (url: URL) => Response, hostname = "127.0.0.1", port = 0) {
  const seen: { method: string; path: string; headers: Record<string, string>; body: string }[] = [];
  const server = Bun.serve({
    port,
    hostname,
    async fetch(request) {
      const url = new URL(request.url);
      seen.push({
        method: request.method,
        path: url.pathname + url.search,
        headers: Object.fromEntries(request.headers),
        body: await request.text(),
      });
      return answer(url);
    },
  });
  return { seen, port: server.port ?? 0, [Symbol.asyncDispose]: () => server.stop(true) };
}

const redirect = (status: number, location: string): Response =>
  new Response("moved", { status, headers: { location } });

describe("MW-69: redirects", () => {
  test("T1: a public server cannot send the host inside: every hop is vetted", async () => {
    await using inside = origin(() => new Response("secret"), "127.0.0.2");
    await using outside = origin((url) => redirect(302, `http://127.0.0.2:${inside.port}${url.pathname}`));
    const fetcher = new TenantFetch(client());
    expect(await rejectionCode(fetcher.fetch(outbound(`http://x.test:${outside.port}/`), never))).toBe(
      "egress_refused",
    );
    expect(outside.seen).toHaveLength(1);
    expect(inside.seen).toHaveLength(0);
  });

  test.each(["file:///etc/passwd", "ftp://x.test/", "data:text/plain,x", "unix:/run/x"])(
    "T1: a redirect to %s is refused",
    async (location) => {
      await using server = origin(() => redirect(302, location));
      const fetched = new TenantFetch(client()).fetch(outbound(`http://x.test:${server.port}/`), never);
      expect(await rejectionCode(fetched)).toBe("egress_refused");
    },
  );

  test("T2: secrets stay with their origin, and the answer tells where it came from", async () => {
    await using second = origin(() => new Response("here"));
    await using first = origin((url) =>
      url.pathname === "/start" ? redirect(307, "/again") : redirect(307, `http://other.test:${second.port}/end#part`),
    );
    const response = await new TenantFetch(client()).fetch(
      outbound(`http://x.test:${first.port}/start#top`, {
        method: "POST",
        headers: [
          ["authorization", "Bearer t"],
          ["cookie", "a=1"],
          ["x-own", "1"],
        ],
        body: new TextEncoder().encode("payload"),
      }),
      never,
    );
    expect(response.url).toBe(`http://other.test:${second.port}/end`);
    expect(response.redirected).toBe(true);
    expect(await textOf(response.body)).toBe("here");
    expect(first.seen.map((each) => each.headers["authorization"])).toEqual(["Bearer t", "Bearer t"]);
    expect(second.seen[0]).toMatchObject({ method: "POST", path: "/end", body: "payload" });
    expect(second.seen[0]?.headers).toMatchObject({ "x-own": "1" });
    expect(Object.keys(second.seen[0]?.headers ?? {})).not.toContain("authorization");
    expect(Object.keys(second.seen[0]?.headers ?? {})).not.toContain("cookie");
  });

  test("manual gives the redirect itself, error refuses it, and both leave other answers alone", async () => {
    await using server = origin((url) => (url.pathname === "/go" ? redirect(301, "/there") : new Response("plain")));
    const fetcher = new TenantFetch(client());
    const url = `http://x.test:${server.port}`;
    const manual = await fetcher.fetch(outbound(`${url}/go`, { redirect: "manual" }), never);
    expect([manual.status, manual.redirected, manual.url]).toEqual([301, false, `${url}/go`]);
    expect(manual.headers).toContainEqual(["location", "/there"]);
    expect(await textOf(manual.body)).toBe("moved");
    const error = fetcher.fetch(outbound(`${url}/go`, { redirect: "error" }), never);
    expect(await rejectionCode(error)).toBe("backend_unavailable");
    for (const mode of ["manual", "error"] as const) {
      const plain = await fetcher.fetch(outbound(`${url}/x`, { redirect: mode }), never);
      expect(await textOf(plain.body)).toBe("plain");
    }
    expect(server.seen.map((each) => each.path)).toEqual(["/go", "/go", "/x", "/x"]);
  });

  test("20 redirects are followed and the 21st is an error; every connection on the way is closed", async () => {
    await using server = await rawOrigin((socket) => {
      socket.once("data", (data) => {
        const left = Number(/^GET \/(\d+)/.exec(data.toString())?.[1]);
        if (left === 0) socket.write(OK);
        else socket.write(`HTTP/1.1 302 Found\r\nLocation: /${left - 1}\r\nContent-Length: 1000000\r\n\r\n`);
      });
    });
    const fetcher = new TenantFetch(client());
    const reached = await fetcher.fetch(outbound(`http://x.test:${server.port}/20`), never);
    expect(await textOf(reached.body)).toBe("ok");
    expect(await rejectionCode(fetcher.fetch(outbound(`http://x.test:${server.port}/21`), never))).toBe(
      "backend_unavailable",
    );
    expect(server.opened()).toBe(21 + 21);
    await server.untilClosed(42);
  });

  test("a POST becomes a GET without its body and what described it", async () => {
    await using server = origin((url) => (url.pathname === "/form" ? redirect(302, "/done") : new Response("done")));
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode("a=1"));
        controller.close();
      },
    });
    const request = outbound(`http://x.test:${server.port}/form`, {
      method: "post",
      headers: [["Content-Type", "application/x-www-form-urlencoded"]],
      body,
    });
    expect(await textOf((await new TenantFetch(client()).fetch(request, never)).body)).toBe("done");
    expect(server.seen.map((each) => [each.method, each.body])).toEqual([
      ["POST", "a=1"],
      ["GET", ""],
    ]);
    expect(Object.keys(server.seen[1]?.headers ?? {})).not.toContain("content-type");
  });
});

describe("content codings", () => {
  const gzipped = (path: string): Response | null =>
    path === "/gzip" ? new Response(gzipSync("hello"), { headers: { "content-encoding": "gzip" } }) : null;

  test("a coded answer is decoded, unless it is wanted as it is", async () => {
    await using server = origin((url) => gzipped(url.pathname) ?? new Response("plain"));
    const fetcher = new TenantFetch(client());
    const url = `http://x.test:${server.port}/gzip`;
    const decoded = await fetcher.fetch(outbound(url), never);
    expect(await textOf(decoded.body)).toBe("hello");
    expect(decoded.headers.map(([name]) => name)).not.toContain("content-encoding");
    expect(decoded.headers.map(([name]) => name)).not.toContain("content-length");
    const manual = await fetcher.fetch(outbound(url, { contentCoding: "manual" }), never);
    expect(manual.headers).toContainEqual(["content-encoding", "gzip"]);
    expect(new Uint8Array(gunzipSync(await new Response(manual.body).arrayBuffer()))).toEqual(
      new TextEncoder().encode("hello"),
    );
    await fetcher.fetch(outbound(url, { headers: [["Range", "bytes=0-1"]] }), never).then((r) => r.body?.cancel());
    await fetcher.fetch(outbound(url, { headers: [["Accept-Encoding", "br"]] }), never).then((r) => r.body?.cancel());
    expect(server.seen.map((each) => each.headers["accept-encoding"])).toEqual([
      "gzip, deflate, br, zstd",
      "identity",
      "identity",
      "br",
    ]);
  });
});

describe("requests", () => {
  test("T3: a request carries what the tenant gave and defaults that tell nothing", async () => {
    await using server = origin(() => new Response(null, { status: 204 }));
    const fetcher = new TenantFetch(client());
    const url = `http://x.test:${server.port}/`;
    expect((await fetcher.fetch(outbound(url), never)).body).toBeNull();
    expect(server.seen[0]?.headers).toEqual({
      host: `x.test:${server.port}`,
      connection: "close",
      accept: "*/*",
      "accept-encoding": "gzip, deflate, br, zstd",
      "user-agent": "Atoll",
    });
    await fetcher.fetch(outbound(url, { headers: [["USER-AGENT", "mine"]] }), never);
    expect(server.seen[1]?.headers["user-agent"]).toBe("mine");
  });

  test.each<[Partial<OutboundRequest>]>([
    [{ url: "/relative" }],
    [{ url: "not a url" }],
    [{ url: "http://user:secret@x.test/" }],
    [{ method: "CONNECT" }],
    [{ method: "trace" }],
    [{ method: "GET HTTP/1.1\r\nX: y" }],
    [{ body: new Uint8Array(1) }],
    [{ method: "HEAD", body: new Uint8Array(1) }],
    [{ headers: [["x-split", "a\r\nx-evil: 1"]] }],
    [{ headers: [["x y", "a"]] }],
    [{ headers: [["x-wide", "☃"]] }],
  ])("malformed request %# is refused, and its error repeats nothing of it", async (more) => {
    let heads = 0;
    await using server = await rawOrigin((socket) => socket.on("data", () => (heads += 1)));
    const request = outbound(`http://x.test:${server.port}/`, more);
    const reason = await rejection(new TenantFetch(client()).fetch(request, never));
    expect(reason.code).toBe("invalid_request");
    expect(reason.message).not.toContain("secret");
    expect(heads).toBe(0);
  });

  test("a stream that a malformed request brought is cancelled", async () => {
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      cancel: () => {
        cancelled = true;
      },
    });
    await rejection(new TenantFetch(client()).fetch(outbound("nonsense", { method: "PUT", body }), never));
    expect(cancelled).toBe(true);
  });

  test.each([199, 600, 999])("a status of %d is no answer", async (status) => {
    await using server = await cannedOrigin(`HTTP/1.1 ${status} Odd\r\nContent-Length: 0\r\n\r\n`, { close: true });
    const fetched = new TenantFetch(client()).fetch(outbound(`http://x.test:${server.port}/`), never);
    expect(await rejectionCode(fetched)).toBe("backend_unavailable");
    await server.untilClosed(1);
  });

  test("a refusal and a failure have their own codes and name no address", async () => {
    const refused = await rejection(new TenantFetch(client({ allow: [] })).fetch(outbound("http://x.test/"), never));
    expect(refused.code).toBe("egress_refused");
    const closed = await cannedOrigin(OK);
    await closed[Symbol.asyncDispose]();
    const failed = await rejection(new TenantFetch(client()).fetch(outbound(`http://x.test:${closed.port}/`), never));
    expect(failed.code).toBe("backend_unavailable");
    for (const { message } of [refused, failed]) expect(message).not.toMatch(/127|x\.test|:\d/);
  });
});

describe("MW-69: connections are bounded", () => {
  test("for each party and in all, and given back when a body is read, cancelled or never came", async () => {
    await using server = await cannedOrigin(OK);
    const fetcher = new TenantFetch(client({ connectionsMax: 3, partyConnectionsMax: 2 }));
    const url = `http://x.test:${server.port}/`;
    const open = (party: string) => fetcher.fetch(outbound(url, { party }), never);
    const first = await open("a");
    const second = await open("a");
    expect(await rejectionCode(open("a"))).toBe("backend_unavailable");
    const third = await open("b");
    expect(await rejectionCode(open("c"))).toBe("backend_unavailable");
    expect(await textOf(first.body)).toBe("ok");
    await (await open("a")).body?.cancel();
    await second.body?.cancel();
    await third.body?.cancel();
    for (let i = 0; i < 5; i++) {
      const refused = fetcher.fetch(outbound("http://10.0.0.1/", { party: "a" }), never);
      expect(await rejectionCode(refused)).toBe("egress_refused");
    }
    for (const body of (await Promise.all([open("a"), open("a"), open("b")])).map((each) => each.body))
      await body?.cancel();
  });
});
