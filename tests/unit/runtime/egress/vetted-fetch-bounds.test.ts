import { describe, expect, test } from "bun:test";
import { SteppedClock } from "../../../../base/stepped-clock.ts";
import { cannedOrigin, rawOrigin } from "../../../support/raw-origin.ts";
import { rejection, rejectionCode } from "../../../support/rejection.ts";
import { client, get, never, OK, textOf } from "../../../support/vetted-client.ts";

describe("V4: bounds and aborts", () => {
  /** Steps the clock until `promise` settles: every real event gets its turn between two steps. */
  async function step<T>(clock: SteppedClock, promise: Promise<T>, ms: number): Promise<T> {
    const state = { open: true };
    const settled = promise.finally(() => {
      state.open = false;
    });
    settled.catch(() => {});
    for (let i = 0; i < 1000 && state.open; i++) await clock.advance(ms / 100);
    return await settled;
  }

  test("WB-33: a resolver, a handshake, a head and a body that never come are given up in time", async () => {
    const clock = new SteppedClock();
    const limits = { clock, connectMs: 1000, headersMs: 2000, idleMs: 3000 };
    await using silent = await rawOrigin((socket) => socket.resume());
    await using stuck = await cannedOrigin("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
    const hanging = { resolve: () => new Promise<never>(() => {}) };

    const startMs = clock.monotonicMs();
    const elapsed = (): number => clock.monotonicMs() - startMs;
    const unresolved = client({ ...limits, resolver: hanging }).fetch(get("http://x.test/"), never);
    expect(await rejectionCode(step(clock, unresolved, 1000))).toBe("backend_unavailable");
    expect(elapsed()).toBeGreaterThanOrEqual(1000);
    const handshake = client(limits).fetch(get(`https://x.test:${silent.port}/`), never);
    expect(await rejectionCode(step(clock, handshake, 1000))).toBe("backend_unavailable");
    const headless = client(limits).fetch(get(`http://x.test:${silent.port}/`), never);
    expect(await rejectionCode(step(clock, headless, 2000))).toBe("backend_unavailable");
    await silent.untilClosed(2);

    const response = await client(limits).fetch(get(`http://x.test:${stuck.port}/`), never);
    await clock.advance(10_000); // nobody reads, so nobody waits
    expect(await rejectionCode(step(clock, textOf(response.body), 3000))).toBe("backend_unavailable");
    await stuck.untilClosed(1);
  });

  test("the head may take as long as the request body goes on", async () => {
    const clock = new SteppedClock();
    await using origin = await rawOrigin((socket) => {
      let text = "";
      socket.on("data", (data) => {
        text += data.toString();
        if (text.endsWith("0\r\n\r\n")) socket.end(OK);
      });
    });
    let left = 5;
    const body = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          await clock.advance(600);
          if (left-- > 0) controller.enqueue(new Uint8Array(1));
          else controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    const request = get(`http://x.test:${origin.port}/`, { method: "PUT", body });
    expect((await client({ clock, headersMs: 1000 }).fetch(request, never)).status).toBe(200);
  });

  test("an aborted signal closes the connection, whatever it was doing, and gives its reason", async () => {
    const reason = new Error("the client went away");
    const aborting = () => {
      const controller = new AbortController();
      return { signal: controller.signal, abort: () => controller.abort(reason) };
    };
    const before = aborting();
    before.abort();
    expect(await rejection(client().fetch(get("http://127.0.0.1:1/"), before.signal))).toBe(reason);

    const resolving = aborting();
    const hanging = { resolve: () => new Promise<never>(() => queueMicrotask(resolving.abort)) };
    expect(await rejection(client({ resolver: hanging }).fetch(get("http://x.test/"), resolving.signal))).toBe(reason);

    const waiting = aborting();
    await using silent = await rawOrigin((socket) => socket.once("data", waiting.abort));
    expect(await rejection(client().fetch(get(`http://x.test:${silent.port}/`), waiting.signal))).toBe(reason);
    await silent.untilClosed(1);

    const shaking = aborting();
    await using deaf = await rawOrigin((socket) => socket.once("data", shaking.abort));
    expect(await rejection(client().fetch(get(`https://x.test:${deaf.port}/`), shaking.signal))).toBe(reason);
    await deaf.untilClosed(1);

    await using stuck = await cannedOrigin("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
    for (const reading of [true, false]) {
      const during = aborting();
      const response = await client().fetch(get(`http://x.test:${stuck.port}/`), during.signal);
      const text = reading ? textOf(response.body) : null;
      during.abort();
      expect(await rejection(text ?? textOf(response.body))).toBe(reason);
    }
    await stuck.untilClosed(2);
  });

  test("cancelling the body closes the connection", async () => {
    await using origin = await cannedOrigin("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
    const response = await client().fetch(get(`http://x.test:${origin.port}/`), never);
    await response.body?.cancel();
    await origin.untilClosed(1);
  });
});
