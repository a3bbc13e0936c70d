// HTTP as it should not be, byte by byte, against the listeners of a real node and a Worker behind them.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Deployed, TestNode } from "../support/node-rig.ts";
import { RawConnection, statusOf } from "../support/raw-http.ts";

const WORKER = `
  let smuggled = 0;
  const text = new TextEncoder();
  const chunks = (...parts) => new ReadableStream({
    start(c) { for (const part of parts) c.enqueue(text.encode(part)); c.close(); },
  });
  const slow = (...parts) => new ReadableStream({
    async pull(c) { await new Promise((r) => setTimeout(r, 5)); parts.length > 0 ? c.enqueue(text.encode(parts.shift())) : c.close(); },
  });
  const answers = {
    "/framing": () => new Response("body", { headers: { "content-length": "999", "transfer-encoding": "gzip, chunked",
      connection: "close, x-ok", "keep-alive": "timeout=9", upgrade: "h2c", te: "trailers", trailer: "x-t", "proxy-authenticate": "x", "x-ok": "1" } }),
    "/framed-stream": () => new Response(slow("one", "two"), { headers: { "content-length": "1", "transfer-encoding": "identity" } }),
    "/204": () => new Response(null, { status: 204, headers: { "content-length": "7", "x-a": "1" } }),
    "/205": () => new Response(null, { status: 205 }),
    "/304": () => new Response(null, { status: 304, headers: { etag: '"v1"', "content-length": "7" } }),
    "/stolen-204": () => Object.defineProperty(new Response(chunks("must not be sent")), "status", { value: 204 }),
    "/cookies": () => new Response("c", { headers: [["set-cookie", "a=1; Path=/"], ["set-cookie", "b=2, 3"], ["x-a", "1"], ["x-a", "2"]] }),
    "/text": () => new Response("text"),
    "/html": () => new Response("<p>", { headers: { "content-type": "text/html" } }),
    "/bytes": () => new Response(text.encode("bytes")),
    "/json": () => Response.json({}),
    "/form": () => new Response(new URLSearchParams("a=b")),
    "/stream": () => new Response(slow("streamed ", "body")),
    "/large": () => new Response("x".repeat(1_000_000)),
    "/101": () => new Response(null, { status: 101 }),
    "/injection": () => { try { new Headers().set("x-a", "1\\r\\nx-evil: 1"); return new Response("no error"); } catch (error) { return new Response(error.name); } },
    "/smuggled": () => { smuggled += 1; return new Response("smuggled"); },
    "/smuggled-count": () => new Response(String(smuggled)),
  };
  export default {
    async fetch(request) {
      const answer = answers[new URL(request.url).pathname];
      if (answer !== undefined) return answer();
      return Response.json({ url: request.url, method: request.method, headers: [...request.headers], body: request.body === null ? null : await request.text() });
    },
  };`;

let node: TestNode;
let worker: Deployed;
beforeAll(async () => {
  node = await TestNode.start();
  worker = await node.deploy(WORKER);
});
afterAll(async () => node[Symbol.asyncDispose]());

/** A request on a connection of its own, with more header lines; everything the node says until it closes. */
const raw = (request: string): Promise<string> => RawConnection.once(node.ready.http, request);
const ask = (path: string, { method = "GET", host = worker.hostname, more = "" } = {}): Promise<string> =>
  raw(`${method} ${path} HTTP/1.1\r\nHost: ${host}\r\n${more}Connection: close\r\n\r\n`);

const headOf = (answer: string): string => answer.slice(0, answer.indexOf("\r\n\r\n") + 2);
const bodyOf = (answer: string): string => answer.slice(answer.indexOf("\r\n\r\n") + 4);
/** Values of a header field, in order. */
const fields = (answer: string, name: string): string[] =>
  [...headOf(answer).matchAll(new RegExp(`^${name}: (.*?)\r?$`, "gim"))].map((match) => match[1] ?? "");
// biome-ignore lint: tests read whatever came
const seen = (answer: string): any => JSON.parse(bodyOf(answer));

describe("what the Worker sees", () => {
  test("paths and queries arrive as they were sent, except that the URL standard resolves dots", async () => {
    for (const path of [
      "/a%2Fb/%C3%A4%20%00",
      "/?q=%20&r=+&s=%zz&t=%",
      "/a;b=c/d,e/f:g@h!$&'()*",
      "//double//slashes///",
      "/trailing/",
      "/?",
      "/a?b?c=d?e",
      "/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    ]) {
      expect([path, seen(await ask(path)).url]).toEqual([path, `https://${worker.hostname}${path}`]);
    }
    expect(seen(await ask("/a/../b/./c/%2e%2e/d")).url).toBe(`https://${worker.hostname}/b/d`);
  });

  test("the authority of the URL is the Worker's own, however the request target or the Host field are written", async () => {
    const { hostname } = worker;
    for (const target of ["http://evil.example/p?q", `http://${hostname}:99/p?q`, "https://evil.example:1/p?q"]) {
      expect([target, seen(await ask(target)).url]).toEqual([target, `https://${hostname}/p?q`]);
    }
    for (const host of [`${hostname}:80`, `${hostname}:`, `${hostname}.`, hostname.toUpperCase(), `  ${hostname} `]) {
      expect([host, seen(await ask("/p", { host })).url]).toEqual([host, `https://${hostname}/p`]);
    }
  });

  test("repeated header fields are joined, cookies with their own separator, and every byte of a value arrives", async () => {
    const more = "X-A: 1\r\nx-a:  2 \r\nCookie: a=1\r\nCookie: b=2\r\nX-Latin: \xe4\xff\r\nX-Empty:\r\n";
    const headers = Object.fromEntries(seen(await ask("/h", { more })).headers);
    expect(headers).toMatchObject({ "x-a": "1, 2", cookie: "a=1; b=2", "x-empty": "" });
    expect(Buffer.from(headers["x-latin"], "latin1").toString("utf8")).toBe("äÿ");
  });

  test("fields of the connection stay with the connection", async () => {
    const more =
      "Keep-Alive: 1\r\nTE: trailers\r\nUpgrade: h2c\r\nProxy-Authorization: secret\r\nProxy-Connection: x\r\nTrailer: x\r\n";
    const names = seen(await ask("/h", { more })).headers.map(([name]: [string]) => name);
    expect(names).toEqual(["host"]);
  });

  test("methods arrive as they are; a tunnel is not made", async () => {
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "QUERY", "M-SEARCH"]) {
      expect([method, seen(await ask("/m", { method })).method]).toEqual([method, method]);
    }
    expect(statusOf(await ask("example.com:443", { method: "CONNECT" }))).toBe(501);
    for (const method of ["G@T", "GE T", "", "\x00"]) {
      expect([method, (await ask("/m", { method })).includes("200 OK")]).toEqual([method, false]);
    }
  });

  test("a chunked body arrives joined, and one with Expect: 100-continue is asked for", async () => {
    const head = `POST /b HTTP/1.1\r\nHost: ${worker.hostname}\r\nConnection: close\r\n`;
    const chunked = await raw(`${head}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n`);
    expect(seen(chunked)).toMatchObject({ method: "POST", body: "abcde" });
    const expected = await raw(`${head}Content-Length: 2\r\nExpect: 100-continue\r\n\r\nab`);
    expect(expected).toStartWith("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK");
  });
});

describe("what the client sees", () => {
  test("a Worker's word about framing and the connection is not sent, and the body is framed as it is", async () => {
    const answer = await ask("/framing");
    expect(fields(answer, "content-length")).toEqual(["4"]);
    for (const name of ["transfer-encoding", "keep-alive", "upgrade", "te", "trailer", "proxy-authenticate"]) {
      expect([name, fields(answer, name)]).toEqual([name, []]);
    }
    expect([bodyOf(answer), fields(answer, "x-ok")]).toEqual(["body", ["1"]]);
    expect(await node.text(worker, "/framed-stream")).toBe("onetwo");
    expect(fields(await ask("/framed-stream"), "content-length")).toEqual([]);
  });

  test("204, 205 and 304 have no body and no length of one, also when the Worker plays tricks", async () => {
    for (const [path, status] of [
      ["/204", 204],
      ["/205", 205],
      ["/304", 304],
    ] as const) {
      const answer = await ask(path);
      expect([path, statusOf(answer), bodyOf(answer)]).toEqual([path, status, ""]);
      expect(["", "0"]).toContain(fields(answer, "content-length").join());
      expect(fields(answer, "transfer-encoding")).toEqual([]);
    }
    expect(fields(await ask("/304"), "etag")).toEqual(['"v1"']);
    expect(await ask("/stolen-204")).not.toMatch(/^HTTP\/1\.1 204[\s\S]*must not be sent/);
  });

  test("HEAD is answered like GET without the body, and never with a wrong length", async () => {
    for (const path of ["/text", "/stream", "/large", "/json", "/204", "/cookies"]) {
      const [head, get] = [await ask(path, { method: "HEAD" }), await ask(path)];
      expect([path, statusOf(head), bodyOf(head)]).toEqual([path, statusOf(get), ""]);
      const [length] = fields(head, "content-length");
      if (length !== undefined) expect([path, length]).toEqual([path, String((await node.text(worker, path)).length)]);
      expect(fields(head, "content-type")).toEqual(fields(get, "content-type"));
    }
  });

  test("several cookies stay several fields; other repeated fields are joined", async () => {
    const answer = await ask("/cookies");
    expect(fields(answer, "set-cookie")).toEqual(["a=1; Path=/", "b=2, 3"]);
    expect(fields(answer, "x-a")).toEqual(["1, 2"]);
  });

  test("the content type is the Worker's, that of the body's kind, or none; never a guess of the Host's", async () => {
    const types = async (path: string) => fields(await ask(path), "content-type").map((type) => type.toLowerCase());
    expect(await types("/text")).toEqual(["text/plain;charset=utf-8"]);
    expect(await types("/html")).toEqual(["text/html"]);
    expect(await types("/json")).toEqual([expect.stringMatching(/^application\/json/)]);
    expect(await types("/form")).toEqual(["application/x-www-form-urlencoded;charset=utf-8"]);
    expect(await types("/bytes")).toEqual([]);
    expect(await types("/stream")).toEqual([]);
    expect(bodyOf(await ask("/bytes"))).toBe("bytes");
  });

  test("MW-48: a status that no answer can have is a 500, and header values cannot carry lines", async () => {
    expect(statusOf(await ask("/101"))).toBe(500);
    expect(bodyOf(await ask("/injection"))).toBe("TypeError");
  });
});

describe("what nobody should send", () => {
  const post = (lines: string, body: string): string =>
    `POST /s HTTP/1.1\r\nHost: ${worker.hostname}\r\n${lines}\r\n\r\n${body}`;
  const SMUGGLED = (): string => `GET /smuggled HTTP/1.1\r\nHost: ${worker.hostname}\r\n\r\n`;

  test("ambiguous framing is refused, the connection is closed, and no second request is found in the body", async () => {
    const requests: Record<string, string> = {
      "both lengths": post("Content-Length: 5\r\nTransfer-Encoding: chunked", `0\r\n\r\n${SMUGGLED()}`),
      "both, other order": post("Transfer-Encoding: chunked\r\nContent-Length: 5", `0\r\n\r\n${SMUGGLED()}`),
      "two lengths": post("Content-Length: 0\r\nContent-Length: 5", SMUGGLED()),
      "a list of lengths": post("Content-Length: 0, 0", SMUGGLED()),
      "negative length": post("Content-Length: -1", SMUGGLED()),
      "signed length": post("Content-Length: +0", SMUGGLED()),
      "hex length": post("Content-Length: 0x0", SMUGGLED()),
      "huge length": post("Content-Length: 18446744073709551616", SMUGGLED()),
      "unknown coding": post("Transfer-Encoding: xchunked", `0\r\n\r\n${SMUGGLED()}`),
      "two codings": post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", `0\r\n\r\n${SMUGGLED()}`),
      "coding with a space": post("Transfer-Encoding : chunked", `0\r\n\r\n${SMUGGLED()}`),
      "folded coding": post("Transfer-Encoding:\r\n chunked", `0\r\n\r\n${SMUGGLED()}`),
      "bad chunk size": post("Transfer-Encoding: chunked", `zz\r\n\r\n${SMUGGLED()}`),
      "negative chunk": post("Transfer-Encoding: chunked", `-1\r\n\r\n${SMUGGLED()}`),
      "overflowing chunk": post("Transfer-Encoding: chunked", `10000000000000000\r\n\r\n${SMUGGLED()}`),
      "bare LF in chunks": post("Transfer-Encoding: chunked", `0\n\n${SMUGGLED()}`),
      "bare LF in the head": `GET /lf HTTP/1.1\nHost: ${worker.hostname}\n\n${SMUGGLED()}`,
      "NUL in a value": `GET /n HTTP/1.1\r\nHost: ${worker.hostname}\r\nX-A: a\0b\r\n\r\n${SMUGGLED()}`,
      "space in a name": `GET /n HTTP/1.1\r\nHost: ${worker.hostname}\r\nX A: b\r\n\r\n${SMUGGLED()}`,
      "another version": `GET /n HTTP/3.0\r\nHost: ${worker.hostname}\r\n\r\n${SMUGGLED()}`,
    };
    for (const [name, request] of Object.entries(requests)) {
      const answer = await raw(request);
      expect([name, answer]).toEqual([name, expect.stringMatching(/^(?:HTTP\/1\.1 (?:400|501|505) |$)/)]);
      expect([name, answer]).toEqual([name, expect.not.stringContaining("smuggled")]);
    }
    expect(await node.text(worker, "/smuggled-count")).toBe("0");
  });

  test("malformed Host fields reach no Worker and break nothing", async () => {
    const { hostname } = worker;
    for (const host of [
      "",
      " ",
      "a b",
      `${hostname}:99999`,
      `${hostname}:abc`,
      `${hostname}:80:80`,
      `${hostname}..`,
      `user@${hostname}`,
      `${hostname}@evil.example`,
      `${hostname}/x`,
      `${hostname}%00`,
      `${hostname},evil.example`,
      `${hostname}\r\nHost: evil.example`,
      `evil.example\r\nHost: ${hostname}`,
      `http://${hostname}`,
      `x${hostname}`,
      "[::1",
      "\xff\xfe",
      "a".repeat(4_000),
      ".".repeat(1_000),
      "__proto__",
      "constructor",
    ]) {
      const answer = await ask("/", { host });
      expect([host, [400, 404].includes(statusOf(answer))]).toEqual([host, true]);
    }
    expect(statusOf(await raw("GET / HTTP/1.1\r\nConnection: close\r\n\r\n"))).toBe(400);
    expect(await node.text(worker, "/text")).toBe("text");
  });

  test("heads beyond measure are refused with 431", async () => {
    expect(statusOf(await ask("/", { more: `X-Big: ${"a".repeat(64_000)}\r\n` }))).toBe(431);
    expect(statusOf(await ask(`/${"a".repeat(64_000)}`))).toBe(431);
    const many = Array.from({ length: 2_000 }, (_, i) => `X-${i}: 1\r\n`).join("");
    expect(statusOf(await ask("/", { more: many }))).toBe(431);
  });

  test("what is no HTTP at all is refused, and a head that never ends holds up nobody", async () => {
    for (const noise of ["\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "HELLO\r\n\r\n", "\r\n\r\n\r\n \r\n\r\n"]) {
      expect(await raw(noise)).toMatch(/^(?:HTTP\/1\.1 4\d\d |HTTP\/1\.1 505 |$)/);
    }
    using hanging = await RawConnection.open(node.ready.http);
    hanging.send(`GET / HTTP/1.1\r\nHost: ${worker.hostname}\r\nX-A: `);
    expect(await node.text(worker, "/text")).toBe("text");
    expect(hanging.heard).toBe("");
  });

  test("none of it was noted as a failure of the node", () => {
    const faults = node.log
      .split("\n")
      .filter((line) => line.includes('"level":"error"') && !line.includes('"worker"'));
    expect(faults).toEqual([]);
  });
});
