import { describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { SteppedClock } from "../../base/stepped-clock.ts";
import {
  acquisitionRig,
  bytesOf,
  digestOf,
  OTHER_OWNER,
  OTHER_SPACE,
  OWNER,
  SPACE,
  source,
  sourceCertificate,
} from "../support/acquisition-rig.ts";
import { rawOrigin } from "../support/raw-origin.ts";
import { rejection, rejectionCode } from "../support/rejection.ts";
import { testCertificate } from "../support/test-certificate.ts";
import { scripted } from "../support/vetted-client.ts";

const CONTENT = bytesOf("export default { fetch() { return new Response('hi'); } };");
const SHA256 = digestOf(CONTENT);
/** A source that nobody answers at. */
const NOWHERE = "https://artifacts.test:1/gone";

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

describe("where bytes come from", () => {
  test("WB-25, WB-43, WB-46: an allowed origin is asked, and the bytes are kept for the Resource over a restart", async () => {
    await using server = await source(() => new Response(CONTENT));
    using rig = await acquisitionRig({ allow: [server.origin] });
    expect(await rig.acquire(`${server.origin}/main.js`, SHA256)).toEqual({ byteSize: CONTENT.length });
    expect(await rig.acquirer.holds(SHA256, OWNER)).toBe(true);
    await rig.restart();
    expect(await rig.acquirer.holds(SHA256, OWNER)).toBe(true);
    expect(await rig.acquirer.read(SHA256)).toEqual(CONTENT);
  });

  test("WB-25: content that is held and granted to the Space needs no source behind the URL", async () => {
    using rig = await acquisitionRig();
    await rig.store.put(SHA256, once(CONTENT), { bytesMax: 1000, spaces: [SPACE] });
    expect(await rig.acquire("https://never.example/main.js", SHA256)).toEqual({ byteSize: CONTENT.length });
    expect(await rig.acquirer.holds(SHA256, OWNER)).toBe(true);
  });

  test("WB-57: content that is held for another Space is not revealed, and has to be fetched like any other", async () => {
    await using server = await source(() => new Response(CONTENT));
    using rig = await acquisitionRig({ allow: [server.origin] });
    await rig.store.put(SHA256, once(CONTENT), { bytesMax: 1000, spaces: [OTHER_SPACE] });
    const held = await rejection(rig.acquire(NOWHERE, SHA256));
    const unknown = await rejection(rig.acquire(NOWHERE, digestOf(bytesOf("never seen"))));
    expect([held.code, held.message]).toEqual([unknown.code, unknown.message]);
    expect(await rig.acquirer.holds(SHA256, OWNER)).toBe(false);
    await rig.acquire(`${server.origin}/main.js`, SHA256);
    expect(server.seen).toHaveLength(1);
    expect(await rig.acquirer.holds(SHA256, OWNER)).toBe(true);
  });

  test("WB-50, WB-56: what a Resource holds is confirmed without its source, and damage to it is noticed", async () => {
    const server = await source(() => new Response(CONTENT));
    const url = `${server.origin}/main.js`;
    using rig = await acquisitionRig({ allow: [server.origin] });
    await rig.acquire(url, SHA256);
    await server[Symbol.asyncDispose]();
    await rig.restart();
    expect(await rig.acquire(url, SHA256)).toEqual({ byteSize: CONTENT.length });
    await Bun.write(`${rig.directory}/sha256/${SHA256.slice(0, 2)}/${SHA256}`, "damaged");
    expect(await rig.acquirer.holds(SHA256, OWNER)).toBe(false);
    expect(await rejectionCode(rig.acquirer.read(SHA256))).toBe("artifact_unreachable");
    expect(await rejectionCode(rig.acquire(url, SHA256))).toBe("artifact_unreachable");
  });

  test("WB-52, WB-58: release drops the pins of one Resource and leaves what another one shares", async () => {
    const clock = new SteppedClock();
    using rig = await acquisitionRig({ clock });
    const own = bytesOf("own");
    for (const bytes of [CONTENT, own])
      await rig.store.put(digestOf(bytes), once(bytes), { bytesMax: 1000, spaces: [SPACE] });
    await rig.acquire(NOWHERE, SHA256);
    await rig.acquire(NOWHERE, SHA256, { owner: OTHER_OWNER });
    await rig.acquire(NOWHERE, digestOf(own));
    await rig.acquirer.release(OWNER);
    await rig.acquirer.release(OWNER);
    await clock.advance(30 * 24 * 60 * 60_000);
    await rig.store.collect(clock.nowMs());
    expect(await rig.acquirer.holds(SHA256, OWNER)).toBe(false);
    expect(await rig.acquirer.holds(SHA256, OTHER_OWNER)).toBe(true);
    expect(await rejectionCode(rig.acquirer.read(digestOf(own)))).toBe("artifact_unreachable");
  });
});

describe("which connections are made", () => {
  test.each([
    "127.0.0.1",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "169.254.169.254",
    "224.0.0.1",
    "240.0.0.1",
    "0.0.0.0",
    "255.255.255.255",
    "::1",
    "fe80::1",
    "fd00:ec2::254",
    "ff02::1",
    "::ffff:10.0.0.1",
    "64:ff9b::a00:1",
  ])("WB-28: a name that resolves to %s is refused unless it is allowed", async (address) => {
    using rig = await acquisitionRig({ resolver: scripted([address]) });
    expect(await rejectionCode(rig.acquire("https://artifacts.test/main.js", SHA256))).toBe("artifact_policy_refused");
  });

  test("WB-28: an allowed origin opens itself and nothing beside it, and no metadata service", async () => {
    await using server = await source(() => new Response(CONTENT));
    using rig = await acquisitionRig({ allow: [server.origin] });
    for (const url of [`https://other.test:${server.port}/x`, `https://127.0.0.1:${server.port}/x`]) {
      expect(await rejectionCode(rig.acquire(url, SHA256))).toBe("artifact_policy_refused");
    }
    expect(server.seen).toHaveLength(0);
    using cloud = await acquisitionRig({ allow: ["https://artifacts.test"], resolver: scripted(["169.254.169.254"]) });
    expect(await rejectionCode(cloud.acquire("https://artifacts.test/x", SHA256))).toBe("artifact_policy_refused");
  });

  test("WB-26: the name is resolved once for a connection, so rebinding it moves nothing", async () => {
    await using server = await source(() => new Response(CONTENT));
    const resolver = scripted(["127.0.0.1"], ["127.0.0.3"]);
    using rig = await acquisitionRig({ allow: [server.origin], resolver });
    await rig.acquire(`${server.origin}/main.js`, SHA256);
    expect(resolver.asked).toEqual(["artifacts.test"]);
  });

  test("WB-27: a certificate for another name or by an unknown authority is no source", async () => {
    const answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    for (const [name, tls] of [
      ["artifacts.test", await testCertificate("artifacts.test")],
      ["third.test", await sourceCertificate()],
    ] as const) {
      await using server = await rawOrigin((socket) => socket.end(answer), { tls });
      const url = `https://${name}:${server.port}/x`;
      using rig = await acquisitionRig({ allow: [new URL(url).origin] });
      expect(await rejectionCode(rig.acquire(url, digestOf(new Uint8Array())))).toBe("artifact_unreachable");
    }
  });

  test("WB-29: the host's credential goes to its exact origin only", async () => {
    await using first = await source(() => new Response(CONTENT));
    await using second = await source(() => new Response(CONTENT));
    using rig = await acquisitionRig({
      allow: [
        { origin: first.origin, authorization: "Bearer held" },
        second.origin,
        `https://other.test:${first.port}`,
      ],
    });
    for (const [i, origin] of [first.origin, second.origin, `https://other.test:${first.port}`].entries()) {
      // Other content each time, so that each is really fetched.
      await rejection(rig.acquire(`${origin}/x`, digestOf(bytesOf(String(i)))));
    }
    expect(first.seen.map((headers) => headers.get("authorization"))).toEqual(["Bearer held", null]);
    expect(second.seen.map((headers) => headers.get("authorization"))).toEqual([null]);
    expect([...(second.seen[0]?.keys() ?? [])].sort()).toEqual([
      "accept",
      "accept-encoding",
      "connection",
      "host",
      "user-agent",
    ]);
  });

  test.each([301, 302, 303, 307, 308])("WB-29: a %d is not followed", async (status) => {
    await using target = await source(() => new Response(CONTENT));
    await using server = await source(
      () => new Response(null, { status, headers: { location: `${target.origin}/x` } }),
    );
    using rig = await acquisitionRig({ allow: [server.origin, target.origin] });
    expect(await rejectionCode(rig.acquire(`${server.origin}/x`, SHA256))).toBe("artifact_policy_refused");
    expect(target.seen).toHaveLength(0);
  });
});

describe("which answers count", () => {
  test("WB-30: identity is asked for, and any other coding is refused", async () => {
    const coded = gzipSync(CONTENT);
    await using server = await source((url) =>
      url.pathname === "/coded"
        ? new Response(coded, { headers: { "content-encoding": "gzip" } })
        : new Response(CONTENT, { headers: { "content-encoding": "identity" } }),
    );
    using rig = await acquisitionRig({ allow: [server.origin] });
    // Not even where the coded bytes are the ones that were declared.
    for (const sha256 of [SHA256, digestOf(coded)]) {
      expect(await rejectionCode(rig.acquire(`${server.origin}/coded`, sha256))).toBe("artifact_policy_refused");
    }
    expect((await rig.acquire(`${server.origin}/plain`, SHA256)).byteSize).toBe(CONTENT.length);
    expect(server.seen.map((headers) => headers.get("accept-encoding"))).toEqual(["identity", "identity", "identity"]);
  });

  test("WB-23, WB-31: the digest is of the bytes inside the framing, whatever their type is said to be", async () => {
    const bytes = Uint8Array.of(0xef, 0xbb, 0xbf, 0xff, 0xfe, 0x0d, 0x0a, 0xe9);
    await using server = await source(
      () =>
        new Response(
          new ReadableStream({
            async start(controller) {
              for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
              controller.close();
            },
          }),
          { headers: { "content-type": "text/html; charset=utf-16" } },
        ),
    );
    using rig = await acquisitionRig({ allow: [server.origin] });
    expect(await rig.acquire(`${server.origin}/x`, digestOf(bytes))).toEqual({ byteSize: 8 });
    expect(await rig.acquirer.read(digestOf(bytes))).toEqual(bytes);
  });

  test.each([201, 203, 204, 206, 400, 401, 404, 410, 500, 503])("WB-32: %d is a failure", async (status) => {
    await using server = await source(() => new Response(status === 204 ? null : CONTENT, { status }));
    using rig = await acquisitionRig({ allow: [server.origin] });
    expect(await rejectionCode(rig.acquire(`${server.origin}/x`, SHA256))).toBe("artifact_unreachable");
    expect(await rig.acquirer.holds(SHA256, OWNER)).toBe(false);
  });

  test("WB-35, WB-36: other content than declared is refused and not kept", async () => {
    await using server = await source(() => new Response("something else"));
    using rig = await acquisitionRig({ allow: [server.origin] });
    expect(await rejectionCode(rig.acquire(`${server.origin}/x`, SHA256))).toBe("artifact_digest_mismatch");
    expect(rig.store.byteSize(SHA256)).toBeNull();
    expect(rig.store.byteSize(digestOf(bytesOf("something else")))).toBeNull();
  });

  test("WB-12: no failure names the URL, the host or an address", async () => {
    await using server = await source(() => new Response("something else"));
    using rig = await acquisitionRig({ allow: [server.origin, "https://artifacts.test:1"] });
    for (const url of [`${server.origin}/secret-path`, NOWHERE, "https://10.0.0.1/secret-path"]) {
      const { message } = await rejection(rig.acquire(url, SHA256));
      expect(message).not.toMatch(/secret-path|gone|artifacts\.test|\d+\.\d+|https/);
    }
  });
});

describe("bounds", () => {
  /** A source that sends 1000 bytes at a time for ever and knows how many it got rid of. */
  async function endless(head: string) {
    let sent = 0;
    const { certPem, keyPem } = await sourceCertificate();
    const server = await rawOrigin(
      (socket) => {
        socket.once("data", () => {
          socket.write(head);
          const more = (): void => {
            if (socket.destroyed) return;
            sent += 1000;
            if (socket.write(`3e8\r\n${"x".repeat(1000)}\r\n`)) setImmediate(more);
            else socket.once("drain", more);
          };
          more();
        });
      },
      { tls: { certPem, keyPem } },
    );
    return { server, sent: () => sent, origin: `https://artifacts.test:${server.port}` };
  }

  test("WB-34: an endless body is cut at the bound, and its connection closed", async () => {
    const { server, origin } = await endless("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    await using _ = server;
    using rig = await acquisitionRig({ allow: [origin] });
    expect(await rejectionCode(rig.acquire(`${origin}/x`, SHA256, { bytesMax: 50_000 }))).toBe(
      "artifact_limit_exceeded",
    );
    await server.untilClosed(1);
    expect(await rejectionCode(rig.acquirer.read(SHA256))).toBe("artifact_unreachable");
  });

  test("WB-34: a length beyond the bound is refused before the body", async () => {
    const head = "HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n";
    const tls = await sourceCertificate();
    await using server = await rawOrigin((socket) => socket.once("data", () => socket.write(head)), { tls });
    const origin = `https://artifacts.test:${server.port}`;
    using rig = await acquisitionRig({ allow: [origin] });
    expect(await rejectionCode(rig.acquire(`${origin}/x`, SHA256, { bytesMax: 100 }))).toBe("artifact_limit_exceeded");
    await server.untilClosed(1);
  });

  test("WB-34: exactly the bound is taken, an empty file too, and one byte more is not", async () => {
    await using server = await source((url) => new Response("x".repeat(Number(url.pathname.slice(1)))));
    using rig = await acquisitionRig({ allow: [server.origin] });
    const acquire = (size: number, bytesMax: number) =>
      rig.acquire(`${server.origin}/${size}`, digestOf(bytesOf("x".repeat(size))), { bytesMax });
    expect(await acquire(100, 100)).toEqual({ byteSize: 100 });
    expect(await acquire(0, 0)).toEqual({ byteSize: 0 });
    expect(await rejectionCode(acquire(101, 100))).toBe("artifact_limit_exceeded");
    expect(await rejectionCode(acquire(100, 99))).toBe("artifact_limit_exceeded"); // held already, and measured too
  });

  test("WB-33: neither silence nor a trickle without end outlasts the time limit", async () => {
    const clock = new SteppedClock();
    const tls = await sourceCertificate();
    const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    await using silent = await rawOrigin((socket) => socket.resume(), { tls });
    await using trickle = await rawOrigin(
      (socket) => {
        socket.once("data", () => socket.write(head));
        const drop = (): void => {
          if (socket.destroyed) return;
          socket.write("1\r\nx\r\n");
          clock.after(900, drop);
        };
        clock.after(900, drop);
      },
      { tls },
    );
    for (const [server, limitMs] of [
      [silent, 1000],
      [trickle, 60_000],
    ] as const) {
      const origin = `https://artifacts.test:${server.port}`;
      using rig = await acquisitionRig({ allow: [origin], clock, totalMs: 60_000, idleMs: 1000 });
      const startMs = clock.monotonicMs();
      const state = { open: true };
      const acquired = rejectionCode(rig.acquire(`${origin}/x`, SHA256)).finally(() => {
        state.open = false;
      });
      for (let i = 0; i < 5000 && state.open; i++) await clock.advance(100);
      expect(await acquired).toBe("artifact_unreachable");
      expect(clock.monotonicMs() - startMs).toBeGreaterThanOrEqual(limitMs);
      await server.untilClosed(1);
    }
  });

  test("WB-43: nothing is held before the last byte has arrived and matched", async () => {
    const gate = Promise.withResolvers<void>();
    await using server = await source(
      () =>
        new Response(
          new ReadableStream({
            async start(controller) {
              controller.enqueue(CONTENT.subarray(0, CONTENT.length - 1));
              await gate.promise;
              controller.enqueue(CONTENT.subarray(CONTENT.length - 1));
              controller.close();
            },
          }),
        ),
    );
    using rig = await acquisitionRig({ allow: [server.origin] });
    const acquired = rig.acquire(`${server.origin}/x`, SHA256);
    while (server.seen.length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(await rig.acquirer.holds(SHA256, OWNER)).toBe(false);
    expect(await rejectionCode(rig.acquirer.read(SHA256))).toBe("artifact_unreachable");
    gate.resolve();
    await acquired;
    expect(await rig.acquirer.holds(SHA256, OWNER)).toBe(true);
  });

  test("a body that ends early is unreachable, not other content", async () => {
    const tls = await sourceCertificate();
    await using server = await rawOrigin(
      (socket) =>
        socket.once("data", () => socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${CONTENT.length}\r\n\r\nexport`)),
      { tls },
    );
    const origin = `https://artifacts.test:${server.port}`;
    using rig = await acquisitionRig({ allow: [origin] });
    expect(await rejectionCode(rig.acquire(`${origin}/x`, SHA256))).toBe("artifact_unreachable");
  });
});
