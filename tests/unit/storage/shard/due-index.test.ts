import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import * as fc from "fast-check";
import { AtollError } from "../../../../base/errors.ts";
import { DUE_START, DueIndex, type DuePosition } from "../../../../storage/shard/due-index.ts";
import { temporaryDirectory } from "../../../support/temporary-directory.ts";

const FENCE = { owner: "node-a", epoch: 1 };
const MAX = Number.MAX_SAFE_INTEGER;

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return error instanceof AtollError ? error.code : String(error);
  }
  return "nothing thrown";
}

describe("DueIndex", () => {
  test("X1: what was applied is there after a reopening, for a later epoch", () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, "index.sqlite");
    const first = DueIndex.open(path, FENCE);
    first.apply([
      { type: "set", kind: "alarm", key: "a", dueAtMs: 5 },
      { type: "set", kind: "alarm", key: "b", dueAtMs: MAX },
      { type: "set", kind: "sleep", key: "a", dueAtMs: 6 },
      { type: "retry", kind: "alarm", key: "a", fireAtMs: 50, attempts: 2 },
      { type: "remove", kind: "alarm", key: "unknown" },
    ]);
    first.close();
    const second = DueIndex.open(path, { owner: "node-a", epoch: 2 });
    expect(second.get("alarm", "a")).toEqual({ key: "a", dueAtMs: 5, fireAtMs: 50, attempts: 2 });
    expect(second.get("alarm", "b")).toEqual({ key: "b", dueAtMs: MAX, fireAtMs: MAX, attempts: 0 });
    expect(second.get("sleep", "a")?.dueAtMs).toBe(6);
    second.apply([{ type: "set", kind: "alarm", key: "a", dueAtMs: 7 }]);
    expect(second.get("alarm", "a")).toEqual({ key: "a", dueAtMs: 7, fireAtMs: 7, attempts: 0 });
    second.close();
  });

  test("X1: of a batch with an impossible change nothing is applied", () => {
    const index = DueIndex.open(":memory:", FENCE);
    for (const dueAtMs of [-1, 0.5, MAX + 1]) {
      const batch = [
        { type: "set", kind: "alarm", key: "good", dueAtMs: 1 },
        { type: "set", kind: "alarm", key: "bad", dueAtMs },
      ] as const;
      expect(() => index.apply(batch)).toThrow("whole number");
      expect(index.get("alarm", "good")).toBeNull();
    }
    index.close();
  });

  test("X2: pages walk every entry of one kind once, in order, whatever the page size", () => {
    const entry = fc.record({
      key: fc.string({ unit: "grapheme", minLength: 1 }),
      dueAtMs: fc.integer({ min: 0, max: 20 }),
    });
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 40 }), fc.integer({ min: 1, max: 7 }), (entries, countMax) => {
        const index = DueIndex.open(":memory:", FENCE);
        index.apply([{ type: "set", kind: "other", key: "x", dueAtMs: 3 }]);
        index.apply(entries.map((one) => ({ type: "set", kind: "alarm", ...one })));
        const latest = new Map(entries.map((one) => [one.key, one.dueAtMs]));
        const walked = new Map<string, number>();
        let position: DuePosition = DUE_START;
        for (;;) {
          const page = index.page("alarm", position, MAX, countMax);
          for (const one of page) {
            expect(walked.has(one.key)).toBe(false);
            expect(one.fireAtMs).toBeGreaterThanOrEqual(position.fireAtMs);
            walked.set(one.key, one.dueAtMs);
            position = one;
          }
          if (page.length < countMax) break;
        }
        expect(walked).toEqual(latest);
        index.close();
      }),
      { numRuns: 50 },
    );
  });

  test("X2: a page stops at its time limit, and the first time after it is known", () => {
    const index = DueIndex.open(":memory:", FENCE);
    for (const dueAtMs of [10, 20, 30]) index.apply([{ type: "set", kind: "alarm", key: `k${dueAtMs}`, dueAtMs }]);
    expect(index.page("alarm", DUE_START, 20, 9).map((one) => one.dueAtMs)).toEqual([10, 20]);
    expect(index.firstAfter("alarm", 20)).toBe(30);
    expect(index.firstAfter("alarm", 30)).toBe(Number.POSITIVE_INFINITY);
    index.close();
  });

  test("X3: only retries beyond the longest back-off are brought forward", () => {
    const index = DueIndex.open(":memory:", FENCE);
    index.apply([
      { type: "set", kind: "alarm", key: "far", dueAtMs: 9_000 },
      { type: "set", kind: "alarm", key: "near retry", dueAtMs: 1 },
      { type: "set", kind: "alarm", key: "far retry", dueAtMs: 1 },
      { type: "retry", kind: "alarm", key: "near retry", fireAtMs: 150, attempts: 1 },
      { type: "retry", kind: "alarm", key: "far retry", fireAtMs: 8_000, attempts: 1 },
    ]);
    index.recallRetries("alarm", 100, 200);
    expect(index.get("alarm", "far")?.fireAtMs).toBe(9_000);
    expect(index.get("alarm", "near retry")?.fireAtMs).toBe(150);
    expect(index.get("alarm", "far retry")?.fireAtMs).toBe(100);
    index.close();
  });

  test("E2: after another owner opened the file, the old one can neither write nor open it again", () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, "index.sqlite");
    const old = DueIndex.open(path, FENCE);
    const current = DueIndex.open(path, { owner: "node-b", epoch: 2 });
    const change = [{ type: "set", kind: "alarm", key: "a", dueAtMs: 1 }] as const;
    expect(codeOf(() => old.apply(change))).toBe("stale_epoch");
    expect(codeOf(() => old.recallRetries("alarm", 1, 1))).toBe("stale_epoch");
    expect(codeOf(() => DueIndex.open(path, FENCE))).toBe("stale_epoch");
    expect(current.get("alarm", "a")).toBeNull();
    current.apply(change);
    expect(current.get("alarm", "a")).not.toBeNull();
    old.close();
    current.close();
  });
});
