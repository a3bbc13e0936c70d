import { describe, expect, test } from "bun:test";
import { SystemClock } from "../../../base/clock.ts";
import { SteppedClock } from "../../../base/stepped-clock.ts";
import { Transport } from "../../../cli/client/transport.ts";
import { testCertificate } from "../../support/test-certificate.ts";

const overNetwork = (ca: string | null = null): Transport =>
  new Transport({ fetch: (url, init) => fetch(url, init), clock: new SystemClock(), ca });

describe("Transport", () => {
  test("HA-18: a redirect to another origin is refused, and that origin hears nothing", async () => {
    let heard = 0;
    using thief = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () => {
        heard++;
        return Response.json({});
      },
    });
    using node = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => Response.redirect(thief.url.href, 307) });
    const answer = await overNetwork().exchange({
      method: "POST",
      url: node.url.href,
      token: "secret",
      body: { json: {} },
    });
    expect(answer).toMatchObject({ type: "refusal", problem: { code: "redirected" } });
    expect(heard).toBe(0);
  });

  test("a node with a certificate of the given authority is trusted, and no other", async () => {
    const [own, foreign] = [await testCertificate("127.0.0.1", "localhost"), await testCertificate("localhost")];
    using node = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      tls: { cert: own.certPem, key: own.keyPem },
      fetch: (request) => Response.json({ authorization: request.headers.get("authorization") }),
    });
    const url = `https://localhost:${node.port}/`;
    expect(await overNetwork(own.caPem).exchange({ method: "GET", url, token: "secret" })).toMatchObject({
      type: "success",
      body: { authorization: "Bearer secret" },
    });
    expect((await overNetwork(foreign.caPem).exchange({ method: "GET", url, token: "secret" })).type).toBe("uncertain");
    expect((await overNetwork().exchange({ method: "GET", url, token: "secret" })).type).toBe("uncertain");
  });

  test("nobody listening is told as that", async () => {
    const gone = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
    const { port } = gone;
    await gone.stop(true);
    const answer = await overNetwork().exchange({ method: "GET", url: `http://127.0.0.1:${port}/`, token: null });
    expect(answer).toMatchObject({ type: "uncertain", why: "nobody listens there" });
  });

  test("HA-150: an answer that does not come is given up, and stays uncertain", async () => {
    const clock = new SteppedClock();
    const silent = (_url: string, init: RequestInit): Promise<Response> =>
      new Promise((_, reject) => {
        init.signal?.addEventListener("abort", () => reject(init.signal?.reason));
      });
    const transport = new Transport({ fetch: silent, clock, ca: null });
    const answer = transport.exchange({ method: "POST", url: "https://host.example/", token: null });
    await clock.advance(60_000);
    expect(await answer).toMatchObject({ type: "uncertain", why: "the node did not answer in time" });
  });
});
