// What every kind of cell has to do alike (sandbox/cell.ts). Run by the test file of each kind.
import { describe, expect, test } from "bun:test";
import type { Cell } from "../../sandbox/cell.ts";
import type { CellOptions } from "../../sandbox/hosted-cell.ts";
import type { LoadSpec } from "../../sandbox/protocol.ts";
import { CellRig, handlerModule, handlerRig, outsideAnswer, readAnswer, type RigOptions } from "../support/cell-rig.ts";

export interface CellKind {
  readonly name: string;
  open(spec: LoadSpec, blocks: readonly Uint8Array[], options: CellOptions): Cell;
}

const CHUNK = 50_000;

export function describeCell(kind: CellKind): void {
  const rig = (sources: ConstructorParameters<typeof CellRig>[0], options: RigOptions = {}): CellRig =>
    new CellRig(sources, { ...options, open: (...given) => kind.open(...given) });
  const handler = (body: string, options: RigOptions = {}): CellRig =>
    handlerRig(body, { ...options, open: (...given) => kind.open(...given) });

  describe(kind.name, () => {
    test("MW-25 MW-26 MW-27 MW-28: loads modules of every kind and answers", async () => {
      await using it = rig(
        {
          "main.js": handlerModule(
            "return Response.json([text, new Uint8Array(bytes)[0], typeof wasm, env.A, env.S, (await import('./late.js')).default]);",
            `import text from "./t.txt"; import bytes from "./b.bin"; import wasm from "./w.wasm";`,
          ),
          "t.txt": { text: "grüß 👋" },
          "b.bin": { bytes: new Uint8Array([200]) },
          "w.wasm": { wasm: new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]) },
          "late.js": "export default 'late';",
        },
        { vars: { A: "ü" }, secrets: { S: "s" } },
      );
      expect(await it.loaded()).toEqual({ ok: true, handlers: ["fetch"], classes: [] });
      expect(it.cell.phase.phase).toBe("live");
      expect(await it.json("/")).toEqual(["grüß 👋", 200, "object", "ü", "s", "late"]);
    });

    test("MW-41: says why a graph cannot be loaded", async () => {
      await using it = rig({ "main.js": `import "./no.js"; export default {};` });
      expect(await it.loaded()).toMatchObject({ ok: false, code: "module_not_found" });
    });

    test("MW-47: bodies of all sizes go through unchanged, both ways, many at a time", async () => {
      await using it = handler("return new Response(request.body);", { cpuMs: 20_000 });
      const sizes = [0, 1, 4_095, 4_096, 16_384, 16_385, 300_000, 2_000_000];
      const same = await Promise.all(
        sizes.map(async (size) => {
          const bytes = new Uint8Array(size).map((_, i) => (i * 7) % 256);
          const { bytes: back } = await it.fetch("/", { body: size % 2 === 0 ? bytes : new Response(bytes).body });
          return Buffer.compare(back, bytes);
        }),
      );
      expect(same).toEqual(sizes.map(() => 0));
    });

    test("MW-47: a slow reader holds the handler back", async () => {
      await using it = handler(
        `if (request.url.endsWith("/count")) return new Response(String(globalThis.made));
         globalThis.made = 0; return new Response(new ReadableStream({ pull(c) { globalThis.made++; c.enqueue(new Uint8Array(${CHUNK})); } }, { highWaterMark: 0 }));`,
      );
      const running = it.start("/");
      const body = (await running.result).body as ReadableStream<Uint8Array>;
      let last = -1;
      for (let made = 0; made !== last; made = Number(await it.text("/count"))) {
        last = made;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      expect(last).toBeGreaterThan(0);
      expect(last * CHUNK).toBeLessThan(1_000_000);
      await body.cancel();
      await running.ended;
    });

    test("MW-48 MW-51: failures and log lines", async () => {
      await using it = handler("console.warn('careful'); throw new Error('secret');");
      const running = it.start("/");
      expect(await running.result.catch((error: Error) => error.name)).toBe("HandlerFailed");
      await running.ended;
      expect(
        it.logs.map(({ level, message, invocation, kind: what }) => [level, message.split("\n")[0], invocation, what]),
      ).toEqual([
        ["warn", "careful", running.id, "console"],
        ["error", "fetch handler failed: Error: secret", running.id, "error"],
      ]);
    });

    test("MW-69 MW-73: calls reach the owner, with streams both ways", async () => {
      await using it = handler(
        `const r = await env.PEER.fetch("https://peer/", { method: "POST", body: new Response("x".repeat(500000)).body, duplex: "half" }); return new Response(r.body, r);`,
        {
          services: ["PEER"],
          call: async ({ body }) => {
            const bytes = await new Response(body as ReadableStream<Uint8Array>).bytes();
            return outsideAnswer(new Response(`${bytes.byteLength}`.repeat(10_000)).body, { status: 201 });
          },
        },
      );
      const answer = await it.fetch("/");
      expect([answer.status, answer.text.length, answer.text.slice(0, 6)]).toEqual([201, 60_000, "500000"]);
    });

    test("MW-45 MW-50: events, and work that follows on", async () => {
      await using it = rig({
        "main.js":
          "export default { scheduled(event, env, ctx) { ctx.waitUntil(new Promise((r) => setTimeout(r, 10)).then(() => console.log(event.cron))); } };",
      });
      await it.loaded();
      const running = it.cell.event("scheduled", `{"cron":"* * * * *"}`);
      await running.result;
      await running.ended;
      expect(it.lines).toEqual(["* * * * *"]);
    });

    test("MW-47: an abort reaches the handler, and the invocation ends", async () => {
      await using it = handler(
        "await new Promise((r) => request.signal.addEventListener('abort', r)); console.log('gone'); return new Response('');",
      );
      await it.loaded();
      const running = it.start("/");
      while (it.cell.running === 0) await new Promise((resolve) => setTimeout(resolve, 1));
      running.abort();
      await running.ended;
      expect(it.lines).toEqual(["gone"]);
    });

    test("C1 C2 C3: whatever it does, stopping fails what is open and proves the end", async () => {
      for (const body of ["for (;;) {}", "await new Promise(() => {});", "for (;;) await 0;"]) {
        await using it = handler(body, { cpuMs: 60_000 });
        await it.loaded();
        const running = it.start("/");
        await it.cell.stop("retired");
        expect(await running.result.catch((error: Error) => error.name)).toBe("CellStopped");
        await running.ended;
        expect(it.cell.phase).toEqual({ phase: "closed", reason: "retired" });
        expect(await it.cell.closed).toBe("retired");
        expect(await it.start("/").result.catch((error: Error) => error.name)).toBe("CellStopped");
      }
    });

    test("C1: stopping while it loads", async () => {
      const it = rig({ "main.js": "for (;;) {}" }, { cpuMs: 60_000 });
      const loaded = it.loaded().then(
        () => "loaded",
        (error: Error) => error.name,
      );
      await it.cell.stop("retired");
      expect(await loaded).toBe("CellStopped");
    });

    test.each([
      ["cpu", "for (;;) {}"],
      [
        "cpu",
        "for (;;) { const t = performance.now(); while (performance.now() - t < 20); await new Promise((r) => setTimeout(r, 1)); }",
      ],
      ["memory", "const keep = []; for (;;) keep.push(new Uint8Array(1e6).fill(1));"],
      [
        "memory",
        "const keep = []; for (;;) { keep.push(new Uint8Array(4e6).fill(1)); await new Promise((r) => setTimeout(r, 1)); }",
      ],
    ] as const)(
      "MW-50: is ended at its %s limit: %s",
      async (reason, body) => {
        await using it = handler(body, { cpuMs: reason === "cpu" ? 300 : 20_000, memoryBytes: 200e6 });
        await it.loaded();
        const running = it.start("/");
        expect(await it.cell.closed).toBe(reason);
        expect(await running.result.catch((error: Error) => error.name)).toBe("CellStopped");
      },
      15_000,
    );

    test("MW-67: nothing of the host's environment is inside", async () => {
      await using it = handler(
        "return Response.json([typeof process, typeof Bun, typeof require, import.meta.env === undefined, import.meta.dir === undefined]);",
      );
      expect(await it.json("/")).toEqual(["undefined", "undefined", "undefined", true, true]);
      expect((await readAnswer(await it.start("/").result)).status).toBe(200);
    });
  });
}
