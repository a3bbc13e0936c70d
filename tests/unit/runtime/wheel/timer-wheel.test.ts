import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { TimerWheel } from "../../../../runtime/wheel/timer-wheel.ts";

const START_MS = Date.UTC(2026, 0, 1);

type Command =
  | { readonly type: "insert"; readonly delayMs: number }
  | { readonly type: "remove"; readonly pick: number }
  | { readonly type: "advance"; readonly byMs: number; readonly countMax: number };

const delay = fc.oneof(
  fc.integer({ min: -100, max: 200 }),
  fc.integer({ min: 0, max: 300_000 }),
  fc.integer({ min: 0, max: 2 ** 40 }),
  fc.constantFrom(
    0,
    63,
    64,
    65,
    4095,
    4096,
    2 ** 31 - 1,
    2 ** 31,
    2 ** 31 + 1,
    2 ** 36,
    Number.MAX_SAFE_INTEGER - START_MS,
  ),
);

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ type: fc.constant("insert" as const), delayMs: delay }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("remove" as const), pick: fc.nat() }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant("advance" as const),
      byMs: delay.map((ms) => Math.max(0, Math.min(ms, 2 ** 41))),
      countMax: fc.integer({ min: 1, max: 50 }),
    }),
  },
);

describe("TimerWheel", () => {
  test("T1, T2, T3: agrees with a sorted list under any inserts, removals and jumps", () => {
    fc.assert(
      fc.property(fc.array(command, { maxLength: 120 }), (commands) => {
        const wheel = new TimerWheel<number>(START_MS);
        const model = new Map<number, { dueMs: number; timer: ReturnType<typeof wheel.insert> }>();
        let nowMs = START_MS;
        let id = 0;
        for (const step of commands) {
          if (step.type === "insert") {
            const dueMs = nowMs + step.delayMs;
            model.set(++id, { dueMs, timer: wheel.insert(dueMs, id) });
          } else if (step.type === "remove") {
            const ids = [...model.keys()];
            const picked = ids[step.pick % Math.max(1, ids.length)];
            if (picked === undefined) continue;
            const entry = model.get(picked);
            if (entry !== undefined) wheel.remove(entry.timer);
            model.delete(picked);
          } else {
            nowMs = Math.min(nowMs + step.byMs, Number.MAX_SAFE_INTEGER);
            // A bounded tick at a time, as the owner would do it, until nothing is left at this time.
            do {
              const looked = wheel.advance(nowMs, step.countMax, (value) => {
                const entry = model.get(value);
                expect(entry?.dueMs).toBeLessThanOrEqual(nowMs);
                model.delete(value);
                return "taken";
              });
              expect(looked).toBeLessThanOrEqual(step.countMax);
            } while (wheel.nextMs <= nowMs);
            for (const { dueMs } of model.values()) expect(dueMs).toBeGreaterThan(nowMs);
          }
          expect(wheel.size).toBe(model.size);
          const earliest = Math.min(...[...model.values()].map((entry) => Math.max(entry.dueMs, nowMs)));
          expect(wheel.nextMs).toBeLessThanOrEqual(earliest);
        }
      }),
      { numRuns: 300 },
    );
  });

  test("T1: timers of different distances expire in order of their due times", () => {
    const wheel = new TimerWheel<number>(0);
    const delays = [5, 70, 5_000, 300_000, 2 ** 31 + 7, 2 ** 40];
    for (const ms of delays.toReversed()) wheel.insert(ms, ms);
    const order: number[] = [];
    wheel.advance(2 ** 41, 1_000, (value) => {
      order.push(value);
      return "taken";
    });
    expect(order).toEqual(delays);
  });

  test("a refused timer is the first one met again, and stays removable", () => {
    const wheel = new TimerWheel<string>(0);
    const first = wheel.insert(1, "first");
    wheel.insert(1, "second");
    const seen: string[] = [];
    wheel.advance(1, 10, (value) => {
      seen.push(value);
      return "refused";
    });
    expect(seen).toEqual(["first"]);
    expect(wheel.size).toBe(2);
    expect(wheel.nextMs).toBeLessThanOrEqual(1);
    wheel.remove(first);
    wheel.advance(1, 10, (value) => {
      seen.push(value);
      return "taken";
    });
    expect(seen).toEqual(["first", "second"]);
    expect(wheel.size).toBe(0);
    expect(wheel.nextMs).toBe(Number.POSITIVE_INFINITY);
  });

  test("an expiring timer may insert and remove others in the same advance", () => {
    const wheel = new TimerWheel<string>(0);
    wheel.insert(10, "a");
    const victim = wheel.insert(10, "victim");
    const seen: string[] = [];
    wheel.advance(20, 10, (value) => {
      seen.push(value);
      if (value === "a") {
        wheel.remove(victim);
        wheel.insert(5, "past");
        wheel.insert(15, "soon");
        wheel.insert(21, "later");
      }
      return "taken";
    });
    expect(seen).toEqual(["a", "past", "soon"]);
    expect(wheel.size).toBe(1);
  });

  test("a million timers are inserted, half of them removed, and the rest expires, in little time", () => {
    const wheel = new TimerWheel<number>(START_MS);
    const timers = Array.from({ length: 1_000_000 }, (_, i) => wheel.insert(START_MS + ((i * 7_919) % 2 ** 33), i));
    for (let i = 0; i < timers.length; i += 2) wheel.remove(timers[i] as (typeof timers)[number]);
    expect(wheel.size).toBe(500_000);
    let expired = 0;
    while (wheel.size > 0) {
      wheel.advance(START_MS + 2 ** 33, 10_000, () => {
        expired++;
        return "taken";
      });
    }
    expect(expired).toBe(500_000);
  }, 20_000);
});
