// Bodies that are larger than any buffer, slower than any patience, or left in the middle.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Deployed, eventually, TestNode } from "../support/node-rig.ts";
import { RawConnection } from "../support/raw-http.ts";

const GIB = 2 ** 30;
const MIB = 2 ** 20;
const GROWTH_MAX = 400 * MIB;

const STREAMS = `
  const state = { aborted: 0, cancelled: 0, bodyBroke: 0, pulled: 0 };
  export default {
    async fetch(request) {
      const url = new URL(request.url);
      const bytes = Number(url.searchParams.get("bytes") ?? 0);
      switch (url.pathname) {
        case "/state": return Response.json(state);
        case "/count": {
          let count = 0;
          try { for await (const chunk of request.body) count += chunk.byteLength; }
          catch (error) { state.bodyBroke += 1; throw error; }
          return new Response(String(count));
        }
        case "/echo": return new Response(request.body);
        case "/give": {
          const chunk = new Uint8Array(65_536).fill(7);
          let left = bytes;
          return new Response(new ReadableStream({
            pull(c) {
              if (left <= 0) return c.close();
              const part = left < chunk.byteLength ? chunk.subarray(0, left) : chunk;
              left -= part.byteLength;
              state.pulled += part.byteLength;
              c.enqueue(part.slice());
            },
            cancel() { state.cancelled += 1; },
          }));
        }
        case "/wait": {
          request.signal.addEventListener("abort", () => { state.aborted += 1; });
          return new Promise((resolve) => request.signal.addEventListener("abort", () => resolve(new Response())));
        }
        case "/first": {
          request.signal.addEventListener("abort", () => { state.aborted += 1; });
          return new Response(new ReadableStream({
            start(c) { c.enqueue(new TextEncoder().encode("first")); },
            cancel() { state.cancelled += 1; },
          }));
        }
      }
    },
  };`;

let node: TestNode;
let worker: Deployed;
beforeAll(async () => {
  node = await TestNode.start();
  worker = await node.deploy(STREAMS);
});
afterAll(async () => node[Symbol.asyncDispose]());

interface State {
  readonly aborted: number;
  readonly cancelled: number;
  readonly bodyBroke: number;
  readonly pulled: number;
}
const state = (): Promise<State> => node.json(worker, "/state");

/** Run `work` and tell by how much the node's memory was larger at its largest than before. */
async function growth(work: () => Promise<void>): Promise<number> {
  const before = node.rssBytes();
  let largest = before;
  const timer = setInterval(() => {
    largest = Math.max(largest, node.rssBytes());
  }, 20);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return largest - before;
}

function zeros(bytes: number): ReadableStream<Uint8Array> {
  let left = bytes;
  return new ReadableStream({
    pull(controller) {
      if (left <= 0) return controller.close();
      const size = Math.min(left, 256 * 1024);
      left -= size;
      controller.enqueue(new Uint8Array(size));
    },
  });
}

describe("large bodies", () => {
  test("MW-47: 1 GiB up through a Worker, in bounded memory", async () => {
    const grown = await growth(async () => {
      expect(await node.text(worker, "/count", { method: "POST", body: zeros(GIB) })).toBe(String(GIB));
    });
    expect(grown).toBeLessThan(GROWTH_MAX);
  }, 60_000);

  test("MW-47: 1 GiB down from a Worker, in bounded memory", async () => {
    const grown = await growth(async () => {
      const response = await node.fetch(worker, `/give?bytes=${GIB}`);
      let count = 0;
      for await (const chunk of response.body!) {
        count += chunk.byteLength;
        if (chunk[0] !== 7 || chunk[chunk.byteLength - 1] !== 7) throw new Error("other bytes than were sent");
      }
      expect(count).toBe(GIB);
    });
    expect(grown).toBeLessThan(GROWTH_MAX);
  }, 60_000);

  test("MW-47: bytes come through both ways in order and unchanged, whatever their size", async () => {
    for (const size of [1, 16_383, 16_384, 16_385, 262_144, 1_000_003]) {
      const bytes = crypto.getRandomValues(new Uint8Array(Math.min(size, 65_536)));
      const whole = new Uint8Array(size).map((_, i) => bytes[i % bytes.length] ?? 0);
      const answer = await (await node.fetch(worker, "/echo", { method: "POST", body: whole })).bytes();
      expect(answer.length).toBe(size);
      expect(Bun.hash(answer)).toBe(Bun.hash(whole));
    }
  });
});

describe("slow readers", () => {
  test("a client that reads nothing holds the Worker back, and costs a window, not the body", async () => {
    const before = (await state()).pulled;
    using connection = await RawConnection.open(node.ready.http);
    connection.send(`GET /give?bytes=${GIB} HTTP/1.1\r\nHost: ${worker.hostname}\r\n\r\n`);
    await connection.until(/\r\n\r\n/);
    connection.pause();
    let last = -1;
    // What the Worker has produced stops growing, because nobody takes it.
    await eventually(async () => {
      await Bun.sleep(100);
      const { pulled } = await state();
      const isStill = pulled === last;
      last = pulled;
      return isStill;
    }, "the Worker goes on producing for a client that reads nothing");
    expect(last - before).toBeLessThan(64 * MIB);
  });

  test("a Worker that reads nothing holds its client back", async () => {
    const reluctant = await node.deploy(`
      let release;
      export default {
        async fetch(request) {
          if (new URL(request.url).pathname === "/go") { release(); return new Response("gone"); }
          await new Promise((resolve) => { release = resolve; });
          let count = 0;
          for await (const chunk of request.body) count += chunk.byteLength;
          return new Response(String(count));
        },
      };`);
    const total = 256 * MIB;
    let sent = 0;
    const source = zeros(total).pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          sent += chunk.byteLength;
          controller.enqueue(chunk);
        },
      }),
    );
    const before = node.rssBytes();
    const answer = node.text(reluctant, "/", { method: "POST", body: source });
    let last = -1;
    await eventually(async () => {
      await Bun.sleep(100);
      const isStill = sent === last && sent > 0;
      last = sent;
      return isStill;
    }, "the client is never held back");
    expect(node.rssBytes() - before).toBeLessThan(GROWTH_MAX);
    expect(await node.text(reluctant, "/go")).toBe("gone");
    expect(await answer).toBe(String(total));
  });
});

describe("clients that go away", () => {
  test("before the head: the request's signal aborts", async () => {
    const before = await state();
    const abort = new AbortController();
    const answer = node.fetch(worker, "/wait", { signal: abort.signal }).catch((error: Error) => error.name);
    await eventually(async () => {
      // The handler runs once the same cell has answered something sent later.
      await state();
      return true;
    }, "never");
    abort.abort();
    expect(await answer).toBe("AbortError");
    await eventually(async () => (await state()).aborted === before.aborted + 1, "the Worker is never told");
  });

  test("in the middle of the answer: its stream is cancelled", async () => {
    const before = await state();
    {
      using connection = await RawConnection.open(node.ready.http);
      connection.send(`GET /first HTTP/1.1\r\nHost: ${worker.hostname}\r\n\r\n`);
      await connection.until(/first/);
    }
    await eventually(async () => (await state()).cancelled === before.cancelled + 1, "the stream is never cancelled");
  });

  test("in the middle of the request: its body breaks off for the Worker", async () => {
    const before = await state();
    {
      using connection = await RawConnection.open(node.ready.http);
      connection.send(`POST /count HTTP/1.1\r\nHost: ${worker.hostname}\r\nContent-Length: 100000\r\n\r\nonly this`);
      await state();
      await Bun.sleep(50);
    }
    await eventually(async () => (await state()).bodyBroke === before.bodyBroke + 1, "the body never breaks off");
  });

  test("nothing of them is left: the Version can be deleted at once", async () => {
    const { api } = node;
    const version = await node.version(worker.worker, "export default { fetch: () => new Response('next') };");
    await node.switch(worker, { [version]: 10_000 });
    await eventually(
      async () => (await api.verdict(api.delete(worker.version))) === "succeeded",
      "some invocation never ended",
    );
  });
});
