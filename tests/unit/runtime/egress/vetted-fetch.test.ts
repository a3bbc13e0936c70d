import { beforeAll, describe, expect, test } from "bun:test";
import { cannedOrigin, rawOrigin } from "../../../support/raw-origin.ts";
import { rejection, rejectionCode } from "../../../support/rejection.ts";
import { testCertificate } from "../../../support/test-certificate.ts";
import { client, get, never, OK, scripted, textOf } from "../../../support/vetted-client.ts";

describe("V1: only vetted addresses", () => {
  test("WB-26: a name that is rebound after the check is connected where it was checked, and refused next time", async () => {
    await using inside = await cannedOrigin(OK, { hostname: "127.0.0.2" });
    await using outside = await cannedOrigin(OK, { hostname: "127.0.0.1", port: inside.port });
    const resolver = scripted(["127.0.0.1"], ["127.0.0.2"]);
    const fetcher = client({ resolver });
    const url = `http://rebind.test:${outside.port}/`;
    const response = await fetcher.fetch(get(url), never);
    expect(await textOf(response.body)).toBe("ok");
    expect(resolver.asked).toEqual(["rebind.test"]); // once, and not again by the platform
    expect(await rejectionCode(fetcher.fetch(get(url), never))).toBe("egress_refused");
    expect([outside.opened(), inside.opened()]).toEqual([1, 0]);
  });

  test("WB-28: of several addresses only admitted ones are connected, in any order", async () => {
    await using inside = await cannedOrigin(OK, { hostname: "127.0.0.2" });
    await using outside = await cannedOrigin(OK, { hostname: "127.0.0.1", port: inside.port });
    const resolver = scripted(["127.0.0.2", "::1", "127.0.0.1", "127.0.0.3"]);
    const response = await client({ resolver }).fetch(get(`http://mixed.test:${outside.port}/`), never);
    expect(await textOf(response.body)).toBe("ok");
    expect([outside.opened(), inside.opened()]).toEqual([1, 0]);
  });

  test.each(["127.0.0.1", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "localhost.test", "[64:ff9b::7f00:1]"])(
    "WB-28 MW-69: without an entry http://%s is refused, connects nowhere and names no address",
    async (host) => {
      await using origin = await cannedOrigin(OK);
      const refused = await rejection(client({ allow: [] }).fetch(get(`http://${host}:${origin.port}/`), never));
      expect(refused.code).toBe("egress_refused");
      expect(refused.message).not.toContain("127");
      expect(origin.opened()).toBe(0);
    },
  );

  test("an address of the network that cannot be reached does not hide the next one", async () => {
    await using origin = await cannedOrigin(OK);
    const resolver = scripted(["127.0.0.9", "127.0.0.1"]);
    const response = await client({ resolver, allow: ["127.0.0.0/8"] }).fetch(
      get(`http://x.test:${origin.port}/`),
      never,
    );
    expect(response.status).toBe(200);
    await response.body?.cancel();
  });

  test("a name with many addresses makes the host try a few of them", async () => {
    await using origin = await cannedOrigin(OK);
    const dead = Array.from({ length: 8 }, (_, i) => `127.0.0.${i + 2}`);
    const resolver = scripted([...dead, "127.0.0.1"]);
    const fetched = client({ resolver, allow: ["127.0.0.0/8"] }).fetch(get(`http://x.test:${origin.port}/`), never);
    expect(await rejectionCode(fetched)).toBe("backend_unavailable");
    expect(origin.opened()).toBe(0);
  });

  test("a name without addresses, a failing resolver and a closed port are unavailable, not refused", async () => {
    const closed = await cannedOrigin(OK);
    await closed[Symbol.asyncDispose]();
    const failing = { resolve: () => Promise.reject(new Error("SERVFAIL 10.0.0.53")) };
    const url = `http://x.test:${closed.port}/`;
    for (const fetcher of [client({ resolver: scripted([]) }), client({ resolver: failing }), client()]) {
      const reason = await rejection(fetcher.fetch(get(url), never));
      expect(reason.code).toBe("backend_unavailable");
      expect(reason.message).not.toMatch(/\d+\.\d+/);
    }
  });

  test.each(["ftp://x.test/", "file:///etc/passwd", "http://x.test:25/", "data:text/plain,x"])(
    "%s is refused",
    async (url) => {
      const resolver = scripted(["127.0.0.1"]);
      expect(await rejectionCode(client({ resolver }).fetch(get(url), never))).toBe("egress_refused");
      expect(resolver.asked).toEqual([]);
    },
  );
});

describe("V2: TLS", () => {
  let good: Awaited<ReturnType<typeof testCertificate>>;
  beforeAll(async () => {
    good = await testCertificate("good.test", "127.0.0.1");
  });

  test("WB-27: the certificate is checked for the name, and the server is told which name", async () => {
    await using origin = await cannedOrigin(OK, { tls: good });
    const fetcher = client({ extraCaPem: [good.caPem] });
    expect(await textOf((await fetcher.fetch(get(`https://good.test:${origin.port}/`), never)).body)).toBe("ok");
    expect(await textOf((await fetcher.fetch(get(`https://good.test.:${origin.port}/`), never)).body)).toBe("ok");
    expect(origin.serverNames).toEqual(["good.test", "good.test"]);
    expect(await textOf((await fetcher.fetch(get(`https://127.0.0.1:${origin.port}/`), never)).body)).toBe("ok");
  });

  test("WB-27: a certificate for another name, or by an unknown authority, is refused before a byte is sent", async () => {
    let bytes = 0;
    await using origin = await rawOrigin((socket) => socket.on("data", (chunk) => (bytes += chunk.length)), {
      tls: good,
    });
    const trusting = client({ extraCaPem: [good.caPem] });
    const wrongName = await rejection(trusting.fetch(get(`https://wrong.test:${origin.port}/`), never));
    const stranger = await rejection(client().fetch(get(`https://good.test:${origin.port}/`), never));
    expect(wrongName.code).toBe("backend_unavailable");
    expect(wrongName.message).toContain("certificate");
    expect(stranger.message).toContain("certificate");
    expect(bytes).toBe(0);
  });

  test("WB-27: the environment cannot switch the check off", async () => {
    await using origin = await cannedOrigin(OK, { tls: good });
    const before = process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
    process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0";
    try {
      const url = `https://good.test:${origin.port}/`;
      expect(await rejectionCode(client().fetch(get(url), never))).toBe("backend_unavailable");
    } finally {
      if (before === undefined) delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
      else process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = before;
    }
  });

  test("a plain server behind https, and a TLS server behind http, are unavailable", async () => {
    await using plain = await cannedOrigin(OK, { close: true });
    expect(await rejectionCode(client().fetch(get(`https://good.test:${plain.port}/`), never))).toBe(
      "backend_unavailable",
    );
    await using secure = await cannedOrigin(OK, { tls: good });
    expect(await rejectionCode(client().fetch(get(`http://good.test:${secure.port}/`), never))).toBe(
      "backend_unavailable",
    );
  });
});
