// Evaluation order of random module graphs in a real cell, against the specification's walk written down naively.
import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { hasCycle, reachable } from "../../../../sandbox/linker/order.ts";
import { CellRig, handlerModule } from "../../../support/cell-rig.ts";

interface Graph {
  /** Imports of each module in source order, by number; module 0 is the root. */
  readonly imports: readonly (readonly number[])[];
  readonly throwing: number | null;
  readonly awaiting: readonly boolean[];
}

const graph: fc.Arbitrary<Graph> = fc.integer({ min: 1, max: 7 }).chain((size) =>
  fc.record({
    imports: fc.array(fc.uniqueArray(fc.integer({ min: 0, max: size - 1 }), { maxLength: 4 }), {
      minLength: size,
      maxLength: size,
    }),
    throwing: fc.option(fc.integer({ min: 0, max: size - 1 }), { freq: 3 }),
    awaiting: fc.array(fc.boolean(), { minLength: size, maxLength: size }),
  }),
);

/** What runs, in order, when nothing awaits: depth first, each once, until something throws. */
function specOrder({ imports, throwing }: Graph): number[] {
  const order: number[] = [];
  const seen = new Set<number>();
  const visit = (at: number): boolean => {
    if (seen.has(at)) return true;
    seen.add(at);
    for (const target of imports[at] ?? []) if (!visit(target)) return false;
    order.push(at);
    return at !== throwing;
  };
  visit(0);
  return order;
}

const graphs = fc.sample(graph, { numRuns: 250, seed: 20260101 });

function sourcesOf(all: readonly Graph[], tail: (graph: Graph, at: number) => string): Record<string, string> {
  const sources: Record<string, string> = {
    "main.js": handlerModule(
      `const g = new URL(request.url).pathname.slice(1);
       globalThis.ran = [];
       try { await import("./g" + g + "/m0.js"); } catch (error) { ran.push(error.message); }
       return Response.json(ran);`,
    ),
  };
  for (const [g, one] of all.entries()) {
    for (const [at, targets] of one.imports.entries()) {
      sources[`g${g}/m${at}.js`] = targets.map((to) => `import "./m${to}.js";`).join("") + tail(one, at);
    }
  }
  return sources;
}

describe("a graph is evaluated in the order of the language", () => {
  test("MW-43: exactly, with cycles, self imports and failures", async () => {
    const sources = sourcesOf(
      graphs,
      (one, at) => `ran.push(${at}); ${one.throwing === at ? `throw new Error("thrown by ${at}");` : ""}`,
    );
    await using rig = new CellRig(sources, { cpuMs: 30_000 });
    await rig.loaded();
    for (const [g, one] of graphs.entries()) {
      const order = specOrder(one);
      const failed = one.throwing !== null && order.at(-1) === one.throwing;
      expect([one.imports, await rig.json(`/${g}`)]).toEqual([
        one.imports,
        failed ? [...order, `thrown by ${one.throwing}`] : order,
      ]);
    }
  }, 30_000);

  test("MW-43: with top-level await each module runs once, after what it depends on outside its cycle", async () => {
    const sources = sourcesOf(
      graphs,
      (one, at) => `ran.push("+${at}"); ${one.awaiting[at] === true ? "await 0; await 0;" : ""} ran.push("-${at}");`,
    );
    await using rig = new CellRig(sources, { cpuMs: 30_000 });
    await rig.loaded();
    for (const [g, one] of graphs.entries()) {
      const ran = (await rig.json(`/${g}`)) as string[];
      const importsOf = (path: string): string[] => (one.imports[Number(path)] ?? []).map(String);
      const all = reachable("0", importsOf);
      expect(ran.toSorted()).toEqual(all.flatMap((at) => [`+${at}`, `-${at}`]).toSorted());
      for (const at of all) {
        for (const to of importsOf(at)) {
          if (reachable(to, importsOf).includes(at)) continue;
          expect([one, ran.indexOf(`-${to}`) < ran.indexOf(`+${at}`)]).toEqual([one, true]);
        }
      }
    }
  }, 30_000);
});

describe("order", () => {
  const naiveCycle = (imports: Graph["imports"], at: number, trail: readonly number[]): boolean =>
    trail.includes(at) || (imports[at] ?? []).some((to) => naiveCycle(imports, to, [...trail, at]));

  test("reachable and hasCycle agree with a naive search", () => {
    fc.assert(
      fc.property(graph, ({ imports }) => {
        const importsOf = (path: string): string[] => (imports[Number(path)] ?? []).map(String);
        const found = reachable("0", importsOf);
        expect(found[0]).toBe("0");
        expect(new Set(found).size).toBe(found.length);
        for (const at of found) for (const to of importsOf(at)) expect(found).toContain(to);
        expect(hasCycle("0", importsOf)).toBe(naiveCycle(imports, 0, []));
      }),
    );
  });

  test("a chain of many thousands takes no stack", () => {
    const importsOf = (path: string): string[] => (path === "50000" ? [] : [String(Number(path) + 1)]);
    expect(reachable("0", importsOf).length).toBe(50_001);
    expect(hasCycle("0", importsOf)).toBe(false);
  });
});
