// ModuleWorker, chapters 5, 7 and 8 at the cell: bodies that stream both ways, clients and callers that go away, calls.
import { describe, expect, test } from "bun:test";
import { AtollError } from "../../base/errors.ts";
import { BODY_WINDOW_BYTES } from "../../sandbox/protocol.ts";
import { type CellRig, handlerRig, outsideAnswer, readAnswer } from "../support/cell-rig.ts";

const CHUNK = 64 * 1024;
const settle = async (): Promise<void> => {
  for (let i = 0; i < 5; i++) await new Promise<void>((resolve) => setImmediate(resolve));
};

/** An endless or counted source that says how many chunks were taken from it. */
function source(chunks: number, bytes = CHUNK) {
  const state = { produced: 0, cancelled: null as unknown };
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (state.produced >= chunks) controller.close();
        else controller.enqueue(new Uint8Array(bytes).fill(++state.produced % 251));
      },
      cancel(reason) {
        state.cancelled = reason ?? "cancelled";
      },
    },
    { highWaterMark: 0 },
  );
  return { state, stream };
}

/** Wait until `look` has given the same answer for a while: nothing moves any more. */
async function atRest(look: () => number | Promise<number>): Promise<number> {
  let last = await look();
  for (let same = 0; same < 4; ) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    await settle();
    const now = await look();
    same = now === last ? same + 1 : 0;
    last = now;
  }
  return last;
}

async function bytesOf(stream: ReadableStream<Uint8Array>): Promise<number> {
  let sum = 0;
  for await (const chunk of stream) sum += chunk.byteLength;
  return sum;
}

const streamOf = (body: unknown): ReadableStream<Uint8Array> => {
  if (!(body instanceof ReadableStream)) throw new Error("the body is no stream");
  return body as ReadableStream<Uint8Array>;
};

describe("bodies", () => {
  test.each([0, 1, 4095, 4096, 16_384, 16_385, 262_144, 262_145, 16 * 2 ** 20])(
    "MW-47: %d bytes echo unchanged, given whole and given as a stream",
    async (size) => {
      const bytes = new Uint8Array(size);
      for (let i = 0; i < size; i++) bytes[i] = (i * 31) % 256;
      await using rig = handlerRig("return new Response(request.body);", { cpuMs: 20_000 });
      for (const body of [bytes, new Response(bytes).body]) {
        const answer = await rig.fetch("/", { body });
        expect(Buffer.compare(answer.bytes, bytes)).toBe(0);
      }
      await using whole = handlerRig("return new Response(await request.arrayBuffer());", { cpuMs: 20_000 });
      expect(Buffer.compare((await whole.fetch("/", { body: bytes })).bytes, bytes)).toBe(0);
    },
    20_000,
  );

  test("MW-47: the handler runs before the body is there", async () => {
    await using rig = handlerRig("return new Response(request.body, { headers: { early: 'yes' } });");
    const gate = Promise.withResolvers<void>();
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        await gate.promise;
        controller.enqueue(new TextEncoder().encode("late"));
        controller.close();
      },
    });
    const response = await rig.start("/", { body }).result;
    expect(response.headers).toContain("early");
    gate.resolve();
    expect(await new Response(streamOf(response.body)).text()).toBe("late");
  });

  test("MW-47: a handler that does not read holds the sender back", async () => {
    await using rig = handlerRig(
      "if (request.url.endsWith('/go')) { globalThis.go(); return new Response(''); } const reader = request.body.getReader(); await reader.read(); await new Promise((r) => { globalThis.go = r; }); let n = 1; while (!(await reader.read()).done) n++; return new Response(String(n));",
    );
    const { state, stream } = source(200);
    const running = rig.start("/", { body: stream });
    const held = await atRest(() => state.produced);
    expect(held * CHUNK).toBeLessThanOrEqual(2 * BODY_WINDOW_BYTES + 2 * CHUNK);
    await rig.text("/go");
    await readAnswer(await running.result);
    expect(state.produced).toBe(200);
  });

  test("MW-47: a client that does not read holds the handler back", async () => {
    await using rig = handlerRig(
      `if (request.url.endsWith("/count")) return new Response(String(globalThis.made));
       globalThis.made = 0; return new Response(new ReadableStream({ pull(c) { if (globalThis.made === 200) c.close(); else { globalThis.made++; c.enqueue(new Uint8Array(${CHUNK})); } } }, { highWaterMark: 0 }));`,
    );
    const response = await rig.start("/").result;
    const made = async (): Promise<number> => Number(await rig.text("/count"));
    const reader = streamOf(response.body).getReader();
    await reader.read();
    const held = await atRest(made);
    expect(held * CHUNK).toBeLessThanOrEqual(2 * BODY_WINDOW_BYTES + 2 * CHUNK);
    reader.releaseLock();
    expect(await bytesOf(streamOf(response.body))).toBeGreaterThan(150 * CHUNK);
    expect(await made()).toBe(200);
  });

  test("MW-47: one huge chunk is cut and held back as well", async () => {
    await using rig = handlerRig("return new Response(new Uint8Array(8 * 2 ** 20).fill(7));", { cpuMs: 20_000 });
    const response = await rig.start("/").result;
    expect(response.bodyBytes).toBe(8 * 2 ** 20);
    let largest = 0;
    for await (const chunk of streamOf(response.body)) largest = Math.max(largest, chunk.byteLength);
    expect(largest).toBeLessThanOrEqual(128 * 1024);
  });

  test("MW-47: many streams at once keep their bytes apart", async () => {
    await using rig = handlerRig("return new Response(request.body);", { cpuMs: 20_000 });
    const answers = await Promise.all(
      Array.from({ length: 20 }, async (_, i) => {
        const bytes = new Uint8Array(200_000 + i).fill(i);
        const answer = await rig.fetch("/", { body: new Response(bytes).body });
        return Buffer.compare(answer.bytes, bytes);
      }),
    );
    expect(answers).toEqual(Array.from({ length: 20 }, () => 0));
  });

  test("MW-47: a request body that breaks off reaches the handler as an error", async () => {
    await using rig = handlerRig("try { await request.text(); } catch (e) { return new Response(e.name); }");
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new Uint8Array(10));
        controller.error(new Error("secret of the host"));
      },
    });
    expect(await rig.text("/", { body })).toBe("TypeError");
    expect(rig.lines.join()).not.toContain("secret");
  });

  test("MW-48: a response body that fails after the head breaks off, is logged, and ends the invocation", async () => {
    await using rig = handlerRig(
      "let n = 0; return new Response(new ReadableStream({ pull(c) { if (n++ > 2) throw new Error('half way'); c.enqueue(new Uint8Array(10)); } }));",
    );
    const running = rig.start("/");
    const response = await running.result;
    expect(await bytesOf(streamOf(response.body)).catch((error: Error) => error.message)).toBe("the body broke off");
    await running.ended;
    expect(rig.lines[0]).toStartWith("Response body failed: Error: half way");
  });

  test.each([
    ["a string", "'text'", "text"],
    ["a number", "5", null],
    ["null", "null", null],
    ["an object", "{}", null],
    ["a view of part of a buffer", "new Uint16Array([1, 26729, 2]).subarray(1, 2)", "ih"],
    ["a DataView", "new DataView(new Uint8Array([104, 105]).buffer)", null],
    ["a buffer", "new Uint8Array([104, 105]).buffer", "hi"],
    ["an empty chunk", "new Uint8Array(0)", ""],
    [
      "a detached buffer",
      "(() => { const b = new Uint8Array(4); structuredClone(b, { transfer: [b.buffer] }); return b; })()",
      null,
    ],
  ])("MW-47: a stream that enqueues %s", async (_, chunk, text) => {
    await using rig = handlerRig(
      `return new Response(new ReadableStream({ start(c) { c.enqueue(${chunk}); c.close(); } }));`,
    );
    const running = rig.start("/");
    const read = await readAnswer(await running.result).then(
      (answer) => answer.text,
      () => null,
    );
    await running.ended;
    if (text !== null) expect(read).toBe(text);
    expect(rig.cell.phase.phase).toBe("live");
  });

  test("MW-67: memory that shrinks under the sender shows nobody else's bytes", async () => {
    await using rig = handlerRig(
      `const buffer = new ArrayBuffer(2 ** 20, { maxByteLength: 2 ** 20 }); const view = new Uint8Array(buffer).fill(65);
       setTimeout(() => buffer.resize(10), 3); return new Response(new ReadableStream({ start(c) { c.enqueue(view); c.close(); } }));`,
    );
    const running = rig.start("/");
    const response = await running.result;
    await new Promise((resolve) => setTimeout(resolve, 20));
    const seen = new Set<number>();
    try {
      for await (const chunk of streamOf(response.body)) for (const byte of chunk) seen.add(byte);
    } catch {
      // The body may break off.
    }
    await running.ended;
    expect([...seen]).toEqual([65]);
  });
});

describe("when somebody goes away", () => {
  test("MW-47: an abort reaches request.signal, the request body, and lets the invocation end", async () => {
    await using rig = handlerRig(
      `request.signal.addEventListener("abort", () => console.log("aborted", request.signal.reason.name));
       try { await request.text(); } catch (e) { console.log("body", e.name); } return new Response("nobody reads this");`,
    );
    await rig.loaded();
    const { state, stream } = source(1e9, 1000);
    const endless = new ReadableStream<Uint8Array>({
      pull: async (c) => {
        c.enqueue(new Uint8Array(10));
        await new Promise((r) => setTimeout(r, 1));
      },
    });
    const running = rig.start("/", { body: endless });
    await new Promise((resolve) => setTimeout(resolve, 10));
    running.abort();
    await running.ended;
    await settle();
    expect(rig.lines.toSorted()).toEqual(["aborted AbortError", "body AbortError"]);
    await stream.cancel();
    expect(state.cancelled).not.toBeNull();
  });

  test("MW-47: a client that cancels the body cancels the tenant's stream", async () => {
    await using rig = handlerRig(
      "return new Response(new ReadableStream({ pull(c) { c.enqueue(new Uint8Array(1000)); }, cancel(reason) { console.log('cancelled', reason.name); } }));",
    );
    const running = rig.start("/");
    const reader = streamOf((await running.result).body).getReader();
    await reader.read();
    await reader.cancel();
    await running.ended;
    await settle();
    expect(rig.lines).toEqual(["cancelled AbortError"]);
    expect(rig.cell.running).toBe(0);
  });

  test("MW-47: an answer made after the abort is not sent, and its stream is given up", async () => {
    await using rig = handlerRig(
      `await new Promise((r) => { request.signal.addEventListener("abort", r); });
       return new Response(new ReadableStream({ pull(c) { c.enqueue(new Uint8Array(100000)); }, cancel() { console.log("cancelled"); } }));`,
    );
    await rig.loaded();
    const running = rig.start("/");
    await settle();
    running.abort();
    await running.ended;
    expect(rig.lines).toEqual(["cancelled"]);
  });

  test("MW-12: drained resolves when the last invocation has ended", async () => {
    await using rig = handlerRig("ctx.waitUntil(new Promise((r) => setTimeout(r, 20))); return new Response('');");
    const running = rig.start("/");
    await running.result;
    expect(rig.cell.running).toBe(1);
    await rig.cell.drained();
    expect(rig.cell.running).toBe(0);
  });

  test("MW-12: a cell that stops breaks every open body", async () => {
    await using rig = handlerRig(
      "return new Response(new ReadableStream({ pull(c) { c.enqueue(new Uint8Array(1000)); } }));",
    );
    const response = await rig.start("/").result;
    const { state, stream } = source(1e6);
    const other = rig.start("/", { body: stream });
    await other.result;
    const reading = bytesOf(streamOf(response.body)).catch((error: Error) => error.name);
    await settle();
    await rig.cell.stop("retired");
    expect(await reading).toBe("CellStopped");
    await settle();
    expect(state.cancelled).not.toBeNull();
  });
});

describe("calls to the outside", () => {
  const outside = (rigBody: string, call: Parameters<typeof handlerRig>[1] = {}): CellRig =>
    handlerRig(rigBody, { services: ["PEER"], cpuMs: 20_000, ...call });

  test("MW-69 MW-70: a call is told whole: kind, target, method, URL, headers, body, redirect, invocation", async () => {
    await using rig = outside(
      `await fetch("https://a.example/x?y", { method: "PUT", headers: { "x-a": "b" }, body: "text", redirect: "manual" });
       await env.PEER.fetch(new Request("https://peer/z", { method: "POST", body: new Uint8Array([1, 2]) })); await fetch(new URL("http://b.example")); return new Response("");`,
      { call: async () => outsideAnswer("") },
    );
    const running = rig.start("/");
    await running.result;
    const told = rig.calls.map(({ kind, target, method, url, redirect, invocation }) => [
      kind,
      target,
      method,
      url,
      redirect,
      invocation,
    ]);
    expect(told).toEqual([
      ["egress", "", "PUT", "https://a.example/x?y", "manual", running.id],
      ["service", "PEER", "POST", "https://peer/z", "follow", running.id],
      ["egress", "", "GET", "http://b.example/", "follow", running.id],
    ]);
    expect(rig.calls[0]?.headers).toContain("x-a\0b");
    expect(new TextDecoder().decode(rig.calls[0]?.body as Uint8Array)).toBe("text");
    expect(rig.calls[2]?.body).toBe(null);
  });

  test("MW-69: the answer is a Response with URL, headers and streamed body", async () => {
    await using rig = outside(
      `const r = await fetch("https://a.example/"); let n = 0; for await (const c of r.body) n += c.length; return Response.json([r.status, r.statusText, r.url, r.redirected, [...r.headers], n, r instanceof Response, r.ok]);`,
      {
        call: async () =>
          outsideAnswer(source(20).stream, {
            status: 404,
            statusText: "Nope",
            headers: "x-a\0b\0set-cookie\0c=1",
            url: "https://b.example/",
            redirected: true,
          }),
      },
    );
    expect(await rig.json("/")).toEqual([
      404,
      "Nope",
      "https://b.example/",
      true,
      [
        ["x-a", "b"],
        ["set-cookie", "c=1"],
      ],
      20 * CHUNK,
      true,
      false,
    ]);
  });

  test.each([204, 205, 304])("MW-69: status %d has no body", async (status) => {
    await using rig = outside(
      `const r = await fetch("https://a.example/"); return Response.json([r.status, r.body]);`,
      {
        call: async () => outsideAnswer(null, { status }),
      },
    );
    expect(await rig.json("/")).toEqual([status, null]);
  });

  test("MW-73: bodies of calls stream both ways, and a slow reader holds its writer back", async () => {
    const { state, stream } = source(300);
    await using rig = outside(
      `let made = 0; const up = new ReadableStream({ pull(c) { if (made === 300) c.close(); else { made++; c.enqueue(new Uint8Array(${CHUNK})); } } }, { highWaterMark: 0 });
       if (request.url.endsWith("/up")) { const r = await env.PEER.fetch("https://peer/", { method: "POST", body: up, duplex: "half" }); return Response.json([await r.text(), made]); }
       const r = await env.PEER.fetch("https://peer/"); return new Response(r.body);`,
      {
        call: async ({ body }) => {
          if (body === null) return outsideAnswer(stream);
          return outsideAnswer(String(await bytesOf(streamOf(body))));
        },
      },
    );
    expect(await rig.json("/up")).toEqual([String(300 * CHUNK), 300]);
    const response = await rig.start("/down").result;
    const held = await atRest(() => state.produced);
    expect(held * CHUNK).toBeLessThanOrEqual(4 * BODY_WINDOW_BYTES + 4 * CHUNK);
    expect(await bytesOf(streamOf(response.body))).toBe(300 * CHUNK);
  });

  test("MW-75 MW-69: failures have each their own error", async () => {
    await using rig = outside(
      `const name = (p) => p.then(() => "ok", (e) => e.name + ": " + e.message);
       return Response.json([await name(fetch("https://refused/")), await name(env.PEER.fetch("https://refused/")), await name(fetch("https://broken/")), await name(env.PEER.fetch("https://broken/"))]);`,
      {
        call: ({ url }) => {
          if (url.includes("refused")) throw new AtollError("egress_refused", "not from here");
          throw new Error("secret of the host");
        },
      },
    );
    expect(await rig.json("/")).toEqual([
      "TypeError: not from here",
      "egress_refused: not from here",
      "TypeError: the call could not be completed",
      "backend_unavailable: the call could not be completed",
    ]);
  });

  test("MW-69: an abort by the tenant reaches the owner and rejects with its reason", async () => {
    let aborted = 0;
    await using rig = outside(
      `const c = new AbortController(); const p = fetch("https://slow/", { signal: c.signal }); setTimeout(() => c.abort(new Error("mine")), 1);
       const early = AbortSignal.abort(new Error("before")); const name = (p) => p.then(() => "ok", (e) => e.message);
       const d = new AbortController(); const r = await fetch("https://streaming/", { signal: d.signal }); const reader = r.body.getReader(); await reader.read(); d.abort(new Error("half way"));
       const body = (async () => { for (;;) if ((await reader.read()).done) return "done"; })();
       return Response.json([await name(p), await name(fetch("https://never/", { signal: early })), await name(body)]);`,
      {
        call: ({ url, signal }) => {
          signal.addEventListener("abort", () => aborted++);
          if (url.includes("streaming")) return Promise.resolve(outsideAnswer(source(1e9).stream));
          return new Promise(() => {});
        },
      },
    );
    expect(await rig.json("/")).toEqual(["mine", "before", "half way"]);
    await settle();
    expect(aborted).toBe(2);
    expect(rig.calls.length).toBe(2);
  });

  test("MW-69: what an invocation leaves open outside ends with it", async () => {
    const { state, stream } = source(1e9);
    let aborted = 0;
    await using rig = outside(
      `const r = await fetch("https://streaming/"); fetch("https://slow/").catch(() => {}); globalThis.rest = r; return new Response("early");`,
      {
        call: ({ url, signal }) => {
          signal.addEventListener("abort", () => aborted++);
          return url.includes("slow") ? new Promise(() => {}) : Promise.resolve(outsideAnswer(stream));
        },
      },
    );
    const running = rig.start("/");
    expect((await readAnswer(await running.result)).text).toBe("early");
    await running.ended;
    await settle();
    expect([aborted, state.cancelled !== null]).toEqual([2, true]);
  });

  test("MW-69: a flood of calls is refused, not queued without end", async () => {
    await using rig = outside(
      `let refused = 0; for (let i = 0; i < 3000; i++) fetch("https://slow/").catch((e) => { if (e.message === "too many calls are under way") refused++; });
       await new Promise((r) => setTimeout(r, 20)); return Response.json(refused);`,
      { call: () => new Promise(() => {}) },
    );
    expect(await rig.json("/")).toBe(3000 - 1024);
    expect(rig.calls.length).toBe(1024);
  });

  test("MW-75: a call after the caller's end fails by name, at once", async () => {
    await using rig = outside(
      `if (globalThis.kept === undefined) { globalThis.kept = env.PEER; const c = Promise.withResolvers(); globalThis.go = c.resolve; globalThis.late = c.promise.then(() => kept.fetch("https://x/")).catch((e) => e.name); return new Response(""); } go(); return new Response(await late);`,
      { call: async () => outsideAnswer("") },
    );
    const first = rig.start("/");
    await first.result;
    await first.ended;
    expect(await rig.text("/")).toBe("backend_unavailable");
    expect(rig.calls.length).toBe(0);
  });
});
