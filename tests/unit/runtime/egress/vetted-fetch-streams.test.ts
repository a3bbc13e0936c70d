import { beforeAll, describe, expect, test } from "bun:test";
import type { Socket } from "node:net";
import { rawOrigin } from "../../../support/raw-origin.ts";
import { testCertificate } from "../../../support/test-certificate.ts";
import { client, get, never, OK, textOf } from "../../../support/vetted-client.ts";

describe("streams", () => {
  const TOTAL = 100 * 2 ** 20;
  const chunk = new Uint8Array(65_536);
  let certificate: Awaited<ReturnType<typeof testCertificate>>;
  beforeAll(async () => {
    certificate = await testCertificate("x.test");
  });

  /** Writes `TOTAL` bytes as fast as the reader takes them. */
  function pour(socket: Socket, onSent: (bytes: number) => void): void {
    let sent = 0;
    const more = (): void => {
      while (sent < TOTAL) {
        sent += chunk.byteLength;
        onSent(sent);
        if (!socket.write(chunk)) return void socket.once("drain", more);
      }
    };
    more();
  }

  /** Waits until `count` has begun and makes no more progress: what lies between the two sides is full. */
  async function standstill(count: () => number): Promise<void> {
    for (let last = -1; count() === 0 || last !== count(); await Bun.sleep(50)) last = count();
  }

  /**
   * Resident memory gained since the call, at its peak, in bytes. Sampled after a collection: how much garbage the
   * engine lets lie depends on all that ran in this process before.
   */
  function growth(): () => number {
    const live = (): number => {
      Bun.gc(true);
      return process.memoryUsage.rss();
    };
    const before = live();
    let peak = before;
    const sample = setInterval(() => (peak = Math.max(peak, live())), 100);
    return () => {
      clearInterval(sample);
      return Math.max(peak, live()) - before;
    };
  }

  test.each(["http", "https"])(
    "%s: 100 MiB come down in constant memory, and a reader that stops stops the sender",
    async (scheme) => {
      let sent = 0;
      const options = scheme === "https" ? { tls: certificate } : {};
      await using origin = await rawOrigin((socket) => {
        socket.once("data", () => {
          socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${TOTAL}\r\n\r\n`);
          pour(socket, (bytes) => (sent = bytes));
        });
      }, options);
      const fetcher = client({ extraCaPem: [certificate.caPem] });
      const grown = growth();
      const response = await fetcher.fetch(get(`${scheme}://x.test:${origin.port}/`), never);
      const reader = (response.body as ReadableStream<Uint8Array>).getReader();
      let received = (await reader.read()).value?.byteLength ?? 0;
      // The sender has filled what lies between the two when it makes no more progress for a while.
      await standstill(() => sent);
      expect(sent).toBeLessThan(32 * 2 ** 20);
      for (;;) {
        const next = await reader.read();
        if (next.done) break;
        received += next.value.byteLength;
      }
      expect(received).toBe(TOTAL);
      expect(grown()).toBeLessThan(64 * 2 ** 20);
    },
    20_000,
  );

  test.each(["http", "https"])(
    "%s: 100 MiB go up in constant memory, and a server that stops reading stops the source",
    async (scheme) => {
      let received = 0;
      let resume = (): void => {};
      const options = scheme === "https" ? { tls: certificate } : {};
      await using origin = await rawOrigin((socket) => {
        resume = () => socket.resume();
        socket.on("data", (data: Buffer) => {
          if (received === 0) socket.pause();
          received += data.length;
          if (received >= TOTAL && data.subarray(-5).toString() === "0\r\n\r\n") socket.end(OK);
        });
      }, options);
      let pulled = 0;
      const body = new ReadableStream<Uint8Array>(
        {
          pull(controller) {
            if (pulled >= TOTAL) return controller.close();
            pulled += chunk.byteLength;
            controller.enqueue(chunk.slice());
          },
        },
        { highWaterMark: 0 },
      );
      const grown = growth();
      const fetcher = client({ extraCaPem: [certificate.caPem] });
      const pending = fetcher.fetch(get(`${scheme}://x.test:${origin.port}/`, { method: "PUT", body }), never);
      await standstill(() => pulled);
      expect(pulled).toBeLessThan(32 * 2 ** 20);
      resume();
      const response = await pending;
      expect(await textOf(response.body)).toBe("ok");
      expect(pulled).toBe(TOTAL);
      expect(grown()).toBeLessThan(64 * 2 ** 20);
    },
    20_000,
  );
});
