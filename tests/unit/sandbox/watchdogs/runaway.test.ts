// Real threads that run away in every way, and the proof that they end while the host goes on.
import { describe, expect, test } from "bun:test";
import type { StopReason } from "../../../../sandbox/cell.ts";
import { CellRig, handlerRig, type RigOptions } from "../../../support/cell-rig.ts";

const CPU = { cpuMs: 300 } satisfies RigOptions;

/** Start the handler, wait for the cell's end, and see that this process kept its pace meanwhile. */
async function runAway(body: string, options: RigOptions, top = ""): Promise<StopReason> {
  await using rig = handlerRig(body, options, top);
  expect(await rig.loaded()).toMatchObject({ ok: true });
  let longestMs = 0;
  let lastMs = performance.now();
  const beat = setInterval(() => {
    longestMs = Math.max(longestMs, performance.now() - lastMs);
    lastMs = performance.now();
  }, 5);
  const running = rig.start("/");
  running.result.catch(() => {});
  const reason = await rig.cell.closed;
  clearInterval(beat);
  await running.ended;
  expect(longestMs).toBeLessThan(1_000);
  return reason;
}

describe("the active CPU limit ends", () => {
  test.each([
    ["a loop", "for (;;) {}"],
    ["a loop that catches everything", "for (;;) { try { for (;;) {} } catch {} finally { for (;;) {} } }"],
    ["an endless chain of microtasks", "for (;;) await 0;"],
    ["microtasks that queue microtasks", "const f = () => queueMicrotask(f); f(); await new Promise(() => {});"],
    [
      "slices across timers",
      "for (;;) { const t = performance.now(); while (performance.now() - t < 20); await new Promise((r) => setTimeout(r, 1)); }",
    ],
    [
      "an interval",
      "setInterval(() => { const t = performance.now(); while (performance.now() - t < 20); }, 1); await new Promise(() => {});",
    ],
    ["a catastrophic regular expression", `/^(a+)+$/.test("a".repeat(60) + "b");`],
    ["endless big integers", "let x = 3n ** 100000n; for (;;) x = (x * x) % (10n ** 50000n);"],
    [
      "sorting for ever",
      "const a = Array.from({ length: 1e6 }, Math.random); for (;;) a.sort(() => Math.random() - 0.5);",
    ],
    ["a getter without end", `console.log(await { get then() { for (;;) {} } });`],
    [
      "a stream that never lets go",
      "const s = new ReadableStream({ pull(c) { c.enqueue(1); } }); for await (const x of s);",
    ],
    ["cryptography in a chain", `for (;;) await crypto.subtle.digest("SHA-256", new Uint8Array(1e6));`],
  ])(
    "MW-50: %s",
    async (_, body) => {
      expect(await runAway(body, CPU)).toBe("cpu");
    },
    15_000,
  );

  test("MW-50: what goes on after the response, and keeps its invocation open", async () => {
    const body =
      "ctx.waitUntil((async () => { for (;;) await new Promise((r) => setTimeout(r, 0)).then(() => { const t = performance.now(); while (performance.now() - t < 20); }); })()); return new Response('x');";
    expect(await runAway(body, CPU)).toBe("cpu");
  }, 15_000);

  test("MW-50: a spinning invocation beside one that streams slowly", async () => {
    await using rig = handlerRig(
      `if (request.url.endsWith("/spin")) for (;;) { const t = performance.now(); while (performance.now() - t < 20); await new Promise((r) => setTimeout(r, 1)); }
       return new Response(new ReadableStream({ async pull(c) { await new Promise((r) => setTimeout(r, 20)); c.enqueue(new Uint8Array(10)); } }));`,
      CPU,
    );
    const slow = rig.start("/slow");
    const reader = ((await slow.result).body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    rig.start("/spin").result.catch(() => {});
    expect(await rig.cell.closed).toBe("cpu");
    expect(
      await reader.read().then(
        () => "more",
        () => "broken",
      ),
    ).toBeOneOf(["more", "broken"]);
    await slow.ended;
  }, 15_000);
});

describe("the limits leave alone", () => {
  test("MW-50: an invocation that lives long and only waits", async () => {
    await using rig = handlerRig(
      "if (request.url.endsWith('/long')) { await new Promise((r) => setTimeout(r, 1500)); return new Response('long'); } let n = 0; for (let i = 0; i < 2e6; i++) n += i; return new Response(String(n));",
      { cpuMs: 250 },
    );
    const long = rig.text("/long");
    // More CPU in sum than the limit, in short invocations beside the long one.
    for (let served = 0; served < 150; served++) await rig.text("/short");
    expect(await long).toBe("long");
    expect(rig.cell.phase.phase).toBe("live");
  }, 15_000);

  test("MW-50: garbage, however much", async () => {
    await using rig = handlerRig(
      "let n = 0; for (let i = 0; i < 60; i++) { n += new Uint8Array(4e6).fill(1).length; if (i % 5 === 0) await new Promise((r) => setTimeout(r, 5)); } return new Response(String(n));",
      { memoryBytes: 64e6, cpuMs: 20_000 },
    );
    expect(await rig.text("/")).toBe("240000000");
  }, 15_000);
});

describe("the memory limit ends", () => {
  test.each([
    [
      "a heap that grows over turns",
      "const keep = []; for (;;) { for (let i = 0; i < 1e5; i++) keep.push({ i }); await new Promise((r) => setTimeout(r, 1)); }",
    ],
    [
      "buffers that pile up over turns",
      "const keep = []; for (;;) { keep.push(new Uint8Array(4e6).fill(1)); await new Promise((r) => setTimeout(r, 1)); }",
    ],
    ["a hog that never yields", "const keep = []; for (;;) keep.push(new Uint8Array(1e6).fill(1));"],
    ["objects without a pause", "const keep = []; for (;;) keep.push({ a: keep.length, b: [keep.length] });"],
    [
      "WebAssembly memory",
      "const keep = []; for (;;) { const m = new WebAssembly.Memory({ initial: 256 }); new Uint8Array(m.buffer).fill(1); keep.push(m); }",
    ],
  ])(
    "MW-67: %s",
    async (_, body) => {
      const before = process.memoryUsage.rss();
      expect(await runAway(body, { memoryBytes: 200e6, cpuMs: 20_000 })).toBe("memory");
      expect(process.memoryUsage.rss() - before).toBeLessThan(3e9);
    },
    15_000,
  );

  test("MW-67: a flood of log lines is cut, not sent", async () => {
    await using rig = handlerRig(
      "for (let i = 0; i < 20000; i++) console.log('x'.repeat(10000)); return new Response('done');",
      { cpuMs: 20_000 },
    );
    expect(await rig.text("/")).toBe("done");
    const chars = rig.lines.reduce((sum, line) => sum + line.length, 0);
    expect(chars).toBeGreaterThan(100_000);
    expect(chars).toBeLessThan(20e6);
  });
});

describe("stopping", () => {
  test("MW-12: the cell's end is proved by the thread's own, and open work fails first", async () => {
    await using rig = handlerRig("for (;;) {}", { cpuMs: 60_000 });
    await rig.loaded();
    const running = rig.start("/");
    const order: string[] = [];
    void running.result.catch((error: Error) => order.push(error.name));
    void running.ended.then(() => order.push("ended"));
    void rig.cell.closed.then(() => order.push("closed"));
    await rig.cell.stop("retired");
    await running.ended;
    expect(order.sort()).toEqual(["CellStopped", "closed", "ended"]);
    expect(rig.cell.phase).toEqual({ phase: "closed", reason: "retired" });
    expect(rig.start("/").result).rejects.toThrow("the cell stopped");
  });

  test("MW-12: a thread that does not close in time is reported, and stopping still waits for the proof", async () => {
    await using rig = new CellRig(
      { "main.js": "export default { fetch() { for (;;) {} } };" },
      { closeGraceMs: 0, cpuMs: 60_000 },
    );
    await rig.loaded();
    rig.start("/").result.catch(() => {});
    await rig.cell.stop("retired");
    expect(rig.stuck).toBe(1);
  });
});
