// Workers that take more than they may: they are stopped, and nobody else notices.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Deployed, eventually, TestNode } from "../support/node-rig.ts";
import { RawConnection, statusOf } from "../support/raw-http.ts";

const HOSTILE = `
  const kept = [];
  let calls = 0;
  export default {
    async fetch(request) {
      const { pathname } = new URL(request.url);
      calls += 1;
      if (pathname === "/spin") for (;;);
      if (pathname === "/microtasks") { const again = () => { Promise.resolve().then(again); }; again(); await new Promise(() => {}); }
      if (pathname === "/timers") { const again = () => { const t = performance.now(); while (performance.now() - t < 20); setTimeout(again, 0); }; again(); await new Promise(() => {}); }
      if (pathname === "/regexp") /^(?:a+)+$/.test("a".repeat(60) + "b");
      if (pathname === "/after-head") {
        return new Response(new ReadableStream({
          start(c) { c.enqueue(new TextEncoder().encode("begun ")); },
          async pull(c) { await new Promise((r) => setTimeout(r, 30)); for (;;); },
        }));
      }
      if (pathname === "/hog") { for (;;) { kept.push(new Array(100_000).fill(calls)); await new Promise((r) => setTimeout(r, 1)); } }
      if (pathname === "/hog-at-once") { for (;;) kept.push(new Uint8Array(8 << 20).fill(1)); }
      return new Response("fine " + calls);
    },
  };`;

let node: TestNode;
let hostile: Deployed;
let friendly: Deployed;
beforeAll(async () => {
  node = await TestNode.start({ config: { limits: { cpuMs: 300, memoryMb: 96 } } });
  [hostile, friendly] = await Promise.all([
    node.deploy(HOSTILE),
    node.deploy("export default { fetch: () => new Response('friendly') };"),
  ]);
});
afterAll(async () => node[Symbol.asyncDispose]());

/** What comes of the request, while the friendly Worker is asked again and again. */
async function besides(
  path: string,
): Promise<{ readonly status: number; readonly text: string; readonly served: number }> {
  const hostileRun = { isOver: false };
  const hostileAnswer = node.fetch(hostile, path).then(async (response) => {
    const text = await response.text();
    hostileRun.isOver = true;
    return { status: response.status, text };
  });
  let served = 0;
  while (!hostileRun.isOver) {
    expect(await node.text(friendly)).toBe("friendly");
    served += 1;
  }
  return { ...(await hostileAnswer), served };
}

describe("CPU", () => {
  for (const path of ["/spin", "/microtasks", "/timers", "/regexp"]) {
    test(`${path}: 504 after its time, others answer meanwhile, and the Worker answers again from a new cell`, async () => {
      const from = node.log.length;
      const { status, text, served } = await besides(path);
      expect(status).toBe(504);
      expect(text).not.toMatch(/worker:|cell|\.js/);
      expect(served).toBeGreaterThan(3);
      await node.logged('"reason":"cpu"', from);
      // Module state is fresh: it is another cell.
      expect(await node.text(hostile)).toBe("fine 1");
    });
  }

  test("after the head the body is cut, and never looks complete", async () => {
    const text = await RawConnection.once(
      node.ready.http,
      `GET /after-head HTTP/1.1\r\nHost: ${hostile.hostname}\r\nConnection: close\r\n\r\n`,
    );
    expect(statusOf(text)).toBe(200);
    expect(text).toContain("begun ");
    expect(text).not.toContain("\r\n0\r\n");
    const reader = (await node.fetch(hostile, "/after-head")).body!.getReader();
    expect((await reader.read()).done).toBe(false);
    const end = await reader.read().then(
      () => "ended as if complete",
      () => "broke off",
    );
    expect(end).toBe("broke off");
    expect(await node.text(hostile)).toBe("fine 1");
  });

  test("waiting costs nothing: a request that outlasts the limit without using CPU is answered", async () => {
    const patient = await node.deploy(`
      export default { fetch: () => new Promise((resolve) => setTimeout(() => resolve(new Response("patient")), 700)) };`);
    expect(await node.text(patient)).toBe("patient");
  });

  test("a Version whose modules spin while they load is refused, and the node goes on", async () => {
    const answer = await node.createVersion(await node.worker(), {
      files: "for (;;); export default { fetch() {} };",
    });
    expect(await node.api.verdict(answer)).toBe("failed none inspection_timeout");
    expect(await node.text(friendly)).toBe("friendly");
  });
});

describe("memory", () => {
  for (const path of ["/hog", "/hog-at-once"]) {
    test(`${path}: the cell is stopped, the node and its pid live on, and the memory comes back`, async () => {
      const { pid } = node.ready;
      const from = node.log.length;
      const { status } = await besides(path);
      expect([500, 504]).toContain(status);
      await node.logged('"a cell ended"', from);
      expect(await node.text(hostile)).toBe("fine 1");
      expect(await node.text(friendly)).toBe("friendly");
      expect(node.ready.pid).toBe(pid);
      expect(() => process.kill(pid, 0)).not.toThrow();
      await eventually(() => node.rssBytes() < 600 * 2 ** 20, `the node keeps ${node.rssBytes()} bytes`);
    });
  }

  test("a Worker that never pauses is stopped for its memory long before its CPU time is over, next to others that work", async () => {
    await using patient = await TestNode.start({ config: { limits: { memoryMb: 96 } } });
    const hog = await patient.deploy(`
      export default {
        fetch() {
          const kept = [];
          // It ends by itself before a machine without the limit is in danger.
          while (kept.length < 256) kept.push(new Uint8Array(8 << 20).fill(1));
          return new Response("had " + kept.length * 8 + " MiB");
        },
      };`);
    const busy = await patient.deploy(`
      export default {
        async fetch() {
          const until = performance.now() + 1_500;
          while (performance.now() < until);
          return new Response("computed");
        },
      };`);
    const computed = patient.text(busy);
    const response = await patient.fetch(hog);
    expect([response.status, await response.text()]).not.toContain("had 2048 MiB");
    expect(response.status).toBe(500);
    await patient.logged('"reason":"memory"');
    expect(await computed).toBe("computed");
  });
});
