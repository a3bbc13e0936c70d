import { describe, expect, test } from "bun:test";
import { cannedOrigin, rawOrigin } from "../../../support/raw-origin.ts";
import { rejection, rejectionCode } from "../../../support/rejection.ts";
import { client, get, never, textOf } from "../../../support/vetted-client.ts";

describe("V3: the answer as it is", () => {
  test("WB-29 WB-30: redirects are answers, and content codings stay", async () => {
    await using origin = await cannedOrigin(
      "HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Encoding: gzip\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 3\r\n\r\nabc",
    );
    const response = await client().fetch(get(`http://x.test:${origin.port}/`), never);
    expect(response.status).toBe(302);
    expect(response.statusText).toBe("Found");
    expect(response.headers).toEqual([
      ["location", "/next"],
      ["content-encoding", "gzip"],
      ["x-a", "1"],
      ["x-a", "2"],
      ["content-length", "3"],
    ]);
    expect(await textOf(response.body)).toBe("abc");
  });

  test("fields of one connection pass neither way, and framing is the host's own", async () => {
    const head = Promise.withResolvers<string>();
    await using origin = await rawOrigin((socket) => {
      socket.once("data", (data) => {
        head.resolve(data.toString("latin1"));
        socket.write(
          "HTTP/1.1 200 OK\r\nConnection: X-Hop, close\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nX-End: 1\r\n",
        );
        socket.end("Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n");
      });
    });
    const headers: [string, string][] = [
      ["Host", "elsewhere.test"],
      ["Connection", "x-secret, keep-alive"],
      ["X-Secret", "1"],
      ["Transfer-Encoding", "chunked"],
      ["Content-Length", "999"],
      ["Upgrade", "websocket"],
      ["Expect", "100-continue"],
      ["Proxy-Authorization", "Basic x"],
      ["X-Kept", "caf\xe9"],
    ];
    const response = await client().fetch(
      get(`http://x.test:${origin.port}/a?b=c`, { method: "POST", headers, body: new TextEncoder().encode("hi") }),
      never,
    );
    expect(response.headers).toEqual([["x-end", "1"]]);
    expect(await textOf(response.body)).toBe("ok");
    expect(await head.promise).toBe(
      `POST /a?b=c HTTP/1.1\r\nhost: x.test:${origin.port}\r\nconnection: close\r\nx-kept: caf\xe9\r\ncontent-length: 2\r\n\r\nhi`,
    );
  });

  test.each([
    ["HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"],
    ["GET", "HTTP/1.1 204 No Content\r\n\r\n"],
    ["GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"],
  ])("%s answered by %p has no body and closes the connection", async (method, answer) => {
    await using origin = await cannedOrigin(answer);
    expect((await client().fetch(get(`http://x.test:${origin.port}/`, { method }), never)).body).toBeNull();
    await origin.untilClosed(1);
  });

  test("interim responses are passed over, and a body to the end of the connection is whole", async () => {
    await using origin = await cannedOrigin("HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\nto the end", {
      close: true,
    });
    const response = await client().fetch(get(`http://x.test:${origin.port}/`), never);
    expect(await textOf(response.body)).toBe("to the end");
  });

  test.each([
    "",
    "NOPE\r\n\r\n",
    "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    `HTTP/1.1 200 OK\r\nX-Long: ${"a".repeat(100_000)}\r\n\r\n`,
    "HTTP/1.1 200 OK\r\nX-A: a\0b\r\n\r\n",
  ])("answer %# is no response", async (answer) => {
    await using origin = await cannedOrigin(answer, { close: true });
    expect(await rejectionCode(client().fetch(get(`http://x.test:${origin.port}/`), never))).toBe(
      "backend_unavailable",
    );
    await origin.untilClosed(1);
  });

  test.each([
    "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n",
  ])("a body that is cut off fails instead of ending: %p", async (answer) => {
    await using origin = await cannedOrigin(answer, { close: true });
    const response = await client().fetch(get(`http://x.test:${origin.port}/`), never);
    expect(await rejectionCode(textOf(response.body))).toBe("backend_unavailable");
  });
});

describe("request bodies", () => {
  const bodyOf = (...texts: string[]): ReadableStream<Uint8Array> =>
    new ReadableStream({
      start(controller) {
        for (const text of texts) controller.enqueue(new TextEncoder().encode(text));
        controller.close();
      },
    });
  const echo = () =>
    Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: async (r) => Response.json([[...r.headers], await r.text()]) });

  test("a stream goes out in chunks, or with the length that was declared", async () => {
    const server = echo();
    const url = `http://x.test:${server.port}/`;
    const send = async (headers: [string, string][], body: ReadableStream<Uint8Array> | null) => {
      const response = await client().fetch(get(url, { method: "POST", headers, body }), never);
      const [received, text] = JSON.parse(await textOf(response.body)) as [[string, string][], string];
      return [Object.fromEntries(received)["content-length"] ?? null, text];
    };
    expect(await send([], bodyOf("ab", "c"))).toEqual([null, "abc"]);
    expect(await send([["Content-Length", "3"]], bodyOf("ab", "c"))).toEqual(["3", "abc"]);
    expect(await send([], null)).toEqual(["0", ""]);
    await server.stop(true);
  });

  test("a body that is not what Content-Length declares ends the request", async () => {
    await using origin = await rawOrigin(() => {});
    for (const length of ["2", "4"]) {
      const request = get(`http://x.test:${origin.port}/`, {
        method: "PUT",
        headers: [["content-length", length]],
        body: bodyOf("ab", "c"),
      });
      expect(await rejectionCode(client().fetch(request, never))).toBe("invalid_request");
    }
    await origin.untilClosed(2);
  });

  test("a failing source ends the request with its own error", async () => {
    await using origin = await rawOrigin(() => {});
    const broken = new Error("source broke");
    const body = new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(broken) });
    const request = get(`http://x.test:${origin.port}/`, { method: "PUT", body });
    expect(await rejection(client().fetch(request, never))).toBe(broken);
    await origin.untilClosed(1);
  });

  test("a source is cancelled when the request never starts, and when the server answers early", async () => {
    const cancelled: string[] = [];
    const endless = (name: string) =>
      new ReadableStream<Uint8Array>({
        pull: (controller) => controller.enqueue(new Uint8Array(1000)),
        cancel: () => {
          cancelled.push(name);
        },
      });
    const refused = get("http://10.0.0.1/", { method: "PUT", body: endless("refused") });
    expect(await rejectionCode(client().fetch(refused, never))).toBe("egress_refused");
    await using origin = await cannedOrigin("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno");
    const early = get(`http://x.test:${origin.port}/`, { method: "PUT", body: endless("early") });
    const response = await client().fetch(early, never);
    expect(response.status).toBe(413);
    expect(await textOf(response.body)).toBe("no");
    await origin.untilClosed(1);
    expect(cancelled).toEqual(["refused", "early"]);
  });
});
