import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { Lanes } from "../../../../control/operations/lanes.ts";

/** Lets every promise that is ready run. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("lanes", () => {
  test("N1, N2: one job a key in order, and never more at once than allowed", async () => {
    const plan = fc.array(fc.record({ key: fc.constantFrom("a", "b", "c", "d"), turns: fc.nat({ max: 3 }) }), {
      maxLength: 30,
    });
    await fc.assert(
      fc.asyncProperty(plan, fc.integer({ min: 1, max: 4 }), async (jobs, concurrencyMax) => {
        const lanes = new Lanes({ concurrencyMax, failed: () => {} });
        const active = new Set<string>();
        const done: { key: string; at: number }[] = [];
        jobs.forEach(({ key, turns }, at) =>
          lanes.add(key, async () => {
            expect(active.has(key)).toBe(false);
            expect(lanes.runs(key)).toBe(true);
            active.add(key);
            expect(active.size).toBeLessThanOrEqual(concurrencyMax);
            for (let i = 0; i < turns; i++) await Promise.resolve();
            active.delete(key);
            done.push({ key, at });
          }),
        );
        for (let i = 0; i < 10 && done.length < jobs.length; i++) await settle();
        expect(done).toHaveLength(jobs.length);
        for (const key of ["a", "b", "c", "d"]) {
          const order = done.filter((job) => job.key === key).map((job) => job.at);
          expect(order).toEqual(order.toSorted((a, b) => a - b));
        }
      }),
      { numRuns: 100 },
    );
  });

  test("N2: a key with many jobs does not starve the others", async () => {
    const lanes = new Lanes({ concurrencyMax: 1, failed: () => {} });
    const order: string[] = [];
    for (const key of ["a", "a", "a", "b", "c"]) lanes.add(key, async () => void order.push(key));
    await settle();
    expect(order).toEqual(["a", "b", "c", "a", "a"]);
  });

  test("N3: a job that rejects or throws is reported and ends only itself", async () => {
    const failures: unknown[] = [];
    const lanes = new Lanes({ concurrencyMax: 1, failed: (error) => failures.push(error) });
    let ran = false;
    lanes.add("a", () => {
      throw new Error("thrown");
    });
    lanes.add("a", () => Promise.reject(new Error("rejected")));
    lanes.add("a", async () => {
      ran = true;
    });
    await settle();
    expect(failures.map(String)).toEqual(["Error: thrown", "Error: rejected"]);
    expect(ran).toBe(true);
  });

  test("closing drops what waits, takes nothing more, and waits for what runs", async () => {
    const lanes = new Lanes({ concurrencyMax: 1, failed: () => {} });
    const gate = Promise.withResolvers<void>();
    const ran: string[] = [];
    lanes.add("a", async () => {
      await gate.promise;
      ran.push("first");
    });
    lanes.add("a", async () => void ran.push("second"));
    lanes.add("b", async () => void ran.push("third"));
    await settle();
    let closed = false;
    const closing = lanes.close().then(() => (closed = true));
    lanes.add("c", async () => void ran.push("late"));
    await settle();
    expect(closed).toBe(false);
    gate.resolve();
    await closing;
    await settle();
    expect(ran).toEqual(["first"]);
    await new Lanes({ concurrencyMax: 1, failed: () => {} }).close();
  });

  test("a job starts in a later turn than the call that adds it", () => {
    const lanes = new Lanes({ concurrencyMax: 4, failed: () => {} });
    let started = false;
    lanes.add("a", async () => {
      started = true;
    });
    expect(started).toBe(false);
  });
});
