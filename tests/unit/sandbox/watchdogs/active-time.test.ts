import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { ActiveTime, NO_INVOCATION } from "../../../../sandbox/watchdogs/active-time.ts";

const open = (...ids: number[]): ReadonlySet<number> => new Set(ids);

describe("ActiveTime", () => {
  test("an invocation is over when what it was seen to use reaches the limit", () => {
    const time = new ActiveTime({ cpuMs: 100 });
    expect(time.look({ cpuMs: 60, elapsedMs: 60, open: open(1, 2), attributed: [[1, 60]] })).toBe(false);
    expect(time.look({ cpuMs: 120, elapsedMs: 60, open: open(1, 2), attributed: [[1, 60]] })).toBe(true);
  });

  test("a busy machine alone convicts nobody: the thread's own CPU has to agree", () => {
    const time = new ActiveTime({ cpuMs: 100 });
    for (let i = 1; i <= 10; i++) {
      expect(time.look({ cpuMs: i * 5, elapsedMs: 50, open: open(1), attributed: [[1, 50]] })).toBe(false);
    }
  });

  test("an old invocation that waits is not charged for the many that come and go", () => {
    const time = new ActiveTime({ cpuMs: 100 });
    for (let i = 1; i <= 100; i++) {
      const look = { cpuMs: i * 50, elapsedMs: 50, open: open(1, i + 1), attributed: [[i + 1, 50]] as const };
      expect(time.look(look)).toBe(false);
      expect(time.look({ cpuMs: i * 50, elapsedMs: 0, open: open(1), attributed: [] })).toBe(false);
    }
  });

  test("time that nobody claims is shared by those who are open", () => {
    const time = new ActiveTime({ cpuMs: 100 });
    const verdicts: boolean[] = [];
    for (let i = 1; i <= 6; i++) {
      verdicts.push(time.look({ cpuMs: i * 50, elapsedMs: 50, open: open(1, 2), attributed: [] }));
    }
    expect(verdicts).toEqual([false, false, false, false, true, true]);
  });

  test("a cell that goes on without any event is over as well, but small work is forgiven for ever", () => {
    const busy = new ActiveTime({ cpuMs: 100 });
    expect(busy.look({ cpuMs: 90, elapsedMs: 100, open: open(), attributed: [[NO_INVOCATION, 90]] })).toBe(false);
    expect(busy.look({ cpuMs: 180, elapsedMs: 100, open: open(), attributed: [[NO_INVOCATION, 90]] })).toBe(true);
    const calm = new ActiveTime({ cpuMs: 100 });
    for (let i = 1; i <= 1_000; i++) {
      expect(calm.look({ cpuMs: i * 5, elapsedMs: 100, open: open(), attributed: [] })).toBe(false);
    }
  });

  test("whatever the looks say, nobody is convicted before the thread has used the limit since it began", () => {
    const looks = fc.array(
      fc.record({
        used: fc.integer({ min: 0, max: 30 }),
        elapsed: fc.integer({ min: 0, max: 60 }),
        open: fc.uniqueArray(fc.integer({ min: 1, max: 4 })),
        attributed: fc.array(fc.tuple(fc.integer({ min: 0, max: 6 }), fc.integer({ min: 0, max: 200 }))),
      }),
    );
    fc.assert(
      fc.property(looks, (sequence) => {
        const time = new ActiveTime({ cpuMs: 100 });
        let cpuMs = 0;
        for (const { used, elapsed, open: ids, attributed } of sequence) {
          cpuMs += used;
          const convicted = time.look({ cpuMs, elapsedMs: elapsed, open: new Set(ids), attributed });
          if (cpuMs < 100) expect(convicted).toBe(false);
        }
      }),
    );
  });
});
