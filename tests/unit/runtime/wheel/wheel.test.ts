import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Cancel, Clock } from "../../../../base/clock.ts";
import { SeededRandom } from "../../../../base/random.ts";
import { silentLogger } from "../../../../base/log.ts";
import { SteppedClock } from "../../../../base/stepped-clock.ts";
import { BACKOFF_MS_MAX, backoffMs } from "../../../../runtime/wheel/backoff.ts";
import { type Due, MEMORY_MAX, PAGE_ENTRIES } from "../../../../runtime/wheel/lane.ts";
import { WheelClock } from "../../../../runtime/wheel/wheel-clock.ts";
import { Wheel } from "../../../../runtime/wheel/wheel.ts";
import { DueIndex } from "../../../../storage/shard/due-index.ts";
import { rejection, rejectionCode } from "../../../support/rejection.ts";
import { temporaryDirectory } from "../../../support/temporary-directory.ts";

const FENCE = { owner: "node-a", epoch: 1 };
const YEAR_MS = 365 * 86_400_000;

let clock: SteppedClock;
let index: DueIndex;
let wheel: Wheel;

function newWheel(): Wheel {
  return new Wheel({ clock, random: new SeededRandom(1), logger: silentLogger, index });
}

/** The stepped clock, with an eye on how many of its timers are pending at once. */
class CountingClock implements Clock {
  pendingMax = 0;
  readonly #pending = new Set<object>();

  nowMs(): number {
    return clock.nowMs();
  }

  monotonicMs(): number {
    return clock.monotonicMs();
  }

  after(delayMs: number, fire: () => void): Cancel {
    const timer = {};
    this.#pending.add(timer);
    this.pendingMax = Math.max(this.pendingMax, this.#pending.size);
    const cancel = clock.after(delayMs, () => {
      this.#pending.delete(timer);
      fire();
    });
    return () => {
      this.#pending.delete(timer);
      cancel();
    };
  }
}

/** Let the writer commit and ready handlers run, without moving the clock. */
const settle = (): Promise<void> => clock.advance(0);

beforeEach(() => {
  clock = new SteppedClock();
  index = DueIndex.open(":memory:", FENCE);
  wheel = newWheel();
});

afterEach(() => index.close());

describe("due times", () => {
  test("H1: an entry fires at its time and not a millisecond before, and then leaves the index", async () => {
    const fired: { due: Due; atMs: number }[] = [];
    wheel.register("alarm", (due) => {
      fired.push({ due, atMs: clock.nowMs() });
    });
    const dueAtMs = clock.nowMs() + 90_000;
    await wheel.set("alarm", "a", dueAtMs);
    await clock.advance(89_999);
    expect(fired).toEqual([]);
    await clock.advance(1);
    expect(fired).toEqual([{ due: { key: "a", dueAtMs, attempt: 1 }, atMs: dueAtMs }]);
    expect(index.get("alarm", "a")).toBeNull();
    await clock.advance(10_000);
    expect(fired).toHaveLength(1);
  });

  test("an entry whose time has passed fires at once", async () => {
    const fired: string[] = [];
    wheel.register("alarm", ({ key }) => void fired.push(key));
    await wheel.set("alarm", "past", clock.nowMs() - YEAR_MS);
    await settle();
    expect(fired).toEqual(["past"]);
  });

  test("setting again replaces the time, cancelling forgets it, both durably", async () => {
    const fired: string[] = [];
    wheel.register("alarm", ({ key }) => void fired.push(key));
    const nowMs = clock.nowMs();
    await wheel.set("alarm", "moved", nowMs + 1_000);
    await wheel.set("alarm", "moved", nowMs + 5_000);
    await wheel.set("alarm", "gone", nowMs + 1_000);
    await wheel.cancel("alarm", "gone");
    await wheel.cancel("alarm", "never set");
    expect(index.get("alarm", "moved")?.dueAtMs).toBe(nowMs + 5_000);
    expect(index.get("alarm", "gone")).toBeNull();
    await clock.advance(4_999);
    expect(fired).toEqual([]);
    await clock.advance(1);
    expect(fired).toEqual(["moved"]);
  });

  test("a wait of years lies on disk alone, and fires when its time comes", async () => {
    const fired: string[] = [];
    wheel.register("sleep", ({ key }) => void fired.push(key));
    const dueAtMs = clock.nowMs() + 40 * YEAR_MS; // far beyond 2^31 ms
    await wheel.set("sleep", "long", dueAtMs);
    expect(wheel.entriesInMemory).toBe(0);
    clock.stepWall(40 * YEAR_MS - 2_500);
    await clock.advance(2_499);
    expect(fired).toEqual([]);
    await clock.advance(1);
    expect(fired).toEqual(["long"]);
  });

  test("H4: a forward step of the wall clock is noticed within a second", async () => {
    const fired: string[] = [];
    wheel.register("alarm", ({ key }) => void fired.push(key));
    await wheel.set("alarm", "near", clock.nowMs() + 30_000);
    await wheel.set("alarm", "far", clock.nowMs() + YEAR_MS);
    clock.stepWall(2 * YEAR_MS);
    await clock.advance(1_000);
    expect(fired).toEqual(["near", "far"]);
  });

  test("H1: after a backward step an entry waits for its wall time again", async () => {
    const fired: string[] = [];
    wheel.register("alarm", ({ key }) => void fired.push(key));
    const dueAtMs = clock.nowMs() + 10_000;
    await wheel.set("alarm", "a", dueAtMs);
    await clock.advance(9_999);
    clock.stepWall(-3_600_000);
    await clock.advance(3_600_000);
    expect(fired).toEqual([]);
    await clock.advance(1);
    expect(fired).toEqual(["a"]);
  });

  test("an entry set after a backward step fires on time although the wheel had been further", async () => {
    const fired: string[] = [];
    wheel.register("alarm", ({ key }) => void fired.push(key));
    await wheel.set("alarm", "late", clock.nowMs() + 7_200_000);
    await clock.advance(60_000);
    clock.stepWall(-3_600_000);
    await wheel.set("alarm", "b", clock.nowMs() + 5_000);
    await clock.advance(4_999);
    expect(fired).toEqual([]);
    await clock.advance(1);
    expect(fired).toEqual(["b"]);
  });

  test("a failing handler runs again after back-off, counts its attempts, and never loses the entry", async () => {
    const attempts: number[] = [];
    wheel.register("alarm", ({ attempt }) => {
      attempts.push(attempt);
      if (attempt < 4) throw new Error("not yet");
    });
    await wheel.set("alarm", "a", clock.nowMs());
    await settle();
    expect(attempts).toEqual([1]);
    expect(index.get("alarm", "a")?.attempts).toBe(1);
    await clock.advance(1_000 + 2_000 + 4_000);
    expect(attempts).toEqual([1, 2, 3, 4]);
    expect(index.get("alarm", "a")).toBeNull();
  });

  test("X3: a retry noted under a clock that ran ahead does not wait for that time to come", async () => {
    const attempts: number[] = [];
    wheel.register("alarm", ({ attempt }) => {
      attempts.push(attempt);
      if (attempt === 1) throw new Error("not yet");
    });
    const dueAtMs = clock.nowMs() + 1_000;
    await wheel.set("alarm", "a", dueAtMs);
    clock.stepWall(5 * YEAR_MS);
    await clock.advance(1_000);
    expect(attempts).toEqual([1]);
    clock.stepWall(-5 * YEAR_MS);
    await clock.advance(2_000);
    expect(attempts).toEqual([1, 2]);
  });

  test("a handler that sets its own key moves it; one that cancels it ends it", async () => {
    const fired: string[] = [];
    wheel.register("alarm", async ({ key, dueAtMs }) => {
      fired.push(key);
      if (key === "repeat" && fired.length < 4) await wheel.set("alarm", key, dueAtMs + 1_000);
      if (key === "throws") {
        await wheel.cancel("alarm", key);
        throw new Error("after the cancel");
      }
    });
    await wheel.set("alarm", "repeat", clock.nowMs() + 1_000);
    await clock.advance(10_000);
    expect(fired).toEqual(["repeat", "repeat", "repeat", "repeat"]);
    expect(index.get("alarm", "repeat")).toBeNull();
    await wheel.set("alarm", "throws", clock.nowMs());
    await clock.advance(60_000);
    expect(fired.filter((key) => key === "throws")).toHaveLength(1);
  });

  test("L3: a set that the handler did not wait for is not swept away with the old entry", async () => {
    let count = 0;
    wheel.register("alarm", ({ key, dueAtMs }) => {
      if (++count === 1) void wheel.set("alarm", key, dueAtMs + 5_000);
    });
    await wheel.set("alarm", "a", clock.nowMs());
    await clock.advance(4_999);
    expect(count).toBe(1);
    await clock.advance(1);
    expect(count).toBe(2);
  });

  test("L2: a key set to the past while it fires runs again, but only after the first run has ended", async () => {
    const gate = Promise.withResolvers<void>();
    let running = 0;
    let runs = 0;
    wheel.register("alarm", async () => {
      expect(++running).toBe(1);
      runs++;
      if (runs === 1) await gate.promise;
      running--;
    });
    await wheel.set("alarm", "a", clock.nowMs());
    await settle();
    await wheel.set("alarm", "a", clock.nowMs() - 1);
    await clock.advance(5_000);
    expect(runs).toBe(1);
    gate.resolve();
    await clock.advance(1);
    expect(runs).toBe(2);
  });

  test("a kind without a handler keeps its entries until it has one; kinds do not hold each other up", async () => {
    const fired: string[] = [];
    await wheel.set("later", "kept", clock.nowMs() - 5);
    wheel.register("stuck", () => new Promise(() => {}), { concurrencyMax: 2 });
    wheel.register("alarm", ({ key }) => void fired.push(key));
    for (let i = 0; i < 10; i++) await wheel.set("stuck", `s${i}`, clock.nowMs());
    await wheel.set("alarm", "a", clock.nowMs() + 1);
    await clock.advance(1);
    expect(fired).toEqual(["a"]);
    wheel.register("later", ({ key }) => void fired.push(key));
    await settle();
    expect(fired).toEqual(["a", "kept"]);
  });

  test("L4: no more handlers run at once than the kind allows, and each end starts the next", async () => {
    const gates: PromiseWithResolvers<void>[] = [];
    wheel.register(
      "alarm",
      () => {
        const gate = Promise.withResolvers<void>();
        gates.push(gate);
        return gate.promise;
      },
      { concurrencyMax: 3 },
    );
    for (let i = 0; i < 8; i++) await wheel.set("alarm", `k${i}`, clock.nowMs());
    await settle();
    expect(gates).toHaveLength(3);
    gates[1]?.resolve();
    await settle();
    expect(gates).toHaveLength(4);
  });

  test("H3: a large batch is fired in pieces, each after a yield, with one platform timer at a time", async () => {
    const counted = new CountingClock();
    wheel = new Wheel({ clock: counted, random: new SeededRandom(1), logger: silentLogger, index });
    const perTurn = new Map<number, number>();
    let turn = 0;
    let count = 0;
    wheel.register(
      "alarm",
      () => {
        count++;
        perTurn.set(turn, (perTurn.get(turn) ?? 0) + 1);
        queueMicrotask(() => turn++);
      },
      { concurrencyMax: 10_000 },
    );
    const dueAtMs = clock.nowMs() + 10;
    await Promise.all(Array.from({ length: 3_000 }, (_, i) => wheel.set("alarm", `k${i}`, dueAtMs)));
    await clock.advance(10);
    expect(count).toBe(3_000);
    expect(Math.max(...perTurn.values())).toBeLessThanOrEqual(256);
    expect(counted.pendingMax).toBe(1);
  });

  test("L1, L4: far more near-due entries than fit into memory all fire, in bounded memory", async () => {
    const total = MEMORY_MAX * 2;
    const nowMs = clock.nowMs();
    const seen = new Set<string>();
    let memoryMax = 0;
    wheel.register("alarm", ({ key }) => {
      seen.add(key);
      memoryMax = Math.max(memoryMax, wheel.entriesInMemory);
    });
    // Set from the latest to the earliest: the worst order for what is in memory.
    const sets = Array.from({ length: total }, (_, i) =>
      wheel.set("alarm", `k${i}`, nowMs + 50_000 - Math.floor(i / 4)),
    );
    await Promise.all(sets);
    expect(wheel.entriesInMemory).toBeLessThanOrEqual(MEMORY_MAX);
    await clock.advance(60_000);
    expect(seen.size).toBe(total);
    expect(memoryMax).toBeLessThanOrEqual(MEMORY_MAX + 256);
    expect(index.page("alarm", { fireAtMs: -1, key: "" }, Number.MAX_SAFE_INTEGER, 1)).toEqual([]);
  }, 20_000);

  test("L2: an entry at the very edge of the window in memory is neither missed nor delivered twice", async () => {
    const fired: string[] = [];
    wheel.register("alarm", async ({ key }) => {
      fired.push(key);
      await Promise.resolve();
    });
    const nowMs = clock.nowMs();
    const keys: string[] = [];
    for (let ms = 59_998; ms <= 60_003; ms++) {
      keys.push(`at ${ms}`);
      await wheel.set("alarm", `at ${ms}`, nowMs + ms);
    }
    // All at once, so that the next page is read while the edge of the last one is still waiting.
    clock.stepWall(70_000);
    await clock.advance(1_000);
    expect(fired).toEqual(keys);
  });

  test("H2: after a failed commit the caller is told, and nothing that was durable is forgotten", async () => {
    let broken = false;
    const flaky = Object.create(index) as DueIndex;
    flaky.apply = (changes) => {
      if (broken) throw new Error("disk full");
      index.apply(changes);
    };
    flaky.page = index.page.bind(index);
    flaky.firstAfter = index.firstAfter.bind(index);
    flaky.get = index.get.bind(index);
    flaky.recallRetries = index.recallRetries.bind(index);
    wheel = new Wheel({ clock, random: new SeededRandom(1), logger: silentLogger, index: flaky });
    const fired: string[] = [];
    wheel.register("alarm", ({ key }) => void fired.push(key));
    await wheel.set("alarm", "a", clock.nowMs() + 1_000);
    broken = true;
    const refused = wheel.set("alarm", "a", clock.nowMs() + 9_000);
    refused.catch(() => {});
    await settle();
    expect(await refused.then(() => "set", String)).toContain("disk full");
    await clock.advance(1_000);
    expect(fired).toEqual(["a"]); // its removal fails too, so it comes again
    await clock.advance(1_000);
    expect(fired.length).toBeGreaterThan(1);
    broken = false;
    await clock.advance(2_000);
    expect(index.get("alarm", "a")).toBeNull();
  });

  test("E2: a wheel whose shard has a new owner fires nothing more and refuses what it is asked", async () => {
    const fired: string[] = [];
    wheel.register("alarm", ({ key }) => void fired.push(key));
    await wheel.set("alarm", "a", clock.nowMs() + 1_000);
    using directory = temporaryDirectory();
    const path = join(directory.path, "index.sqlite");
    const old = DueIndex.open(path, FENCE);
    const stale = new Wheel({ clock, random: new SeededRandom(1), logger: silentLogger, index: old });
    stale.register("alarm", ({ key }) => void fired.push(`stale ${key}`));
    await stale.set("alarm", "b", clock.nowMs() + 5_000);
    const successor = DueIndex.open(path, { owner: "node-b", epoch: 2 });
    const refused = rejectionCode(stale.set("alarm", "c", clock.nowMs()));
    await settle();
    expect(await refused).toBe("stale_epoch");
    expect(await rejectionCode(stale.set("alarm", "d", clock.nowMs()))).toBe("stale_epoch");
    await clock.advance(60_000);
    expect(fired).toEqual(["a"]);
    expect(successor.get("alarm", "b")?.key).toBe("b");
    expect(successor.get("alarm", "c")).toBeNull();
    old.close();
    successor.close();
  });

  test("a bad key or time is a bug of the caller and harms no other change", async () => {
    const good = wheel.set("alarm", "good", clock.nowMs() + 1);
    for (const bad of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect((await rejection(wheel.set("alarm", "bad", bad))).message).toContain("whole number");
    }
    expect((await rejection(wheel.set("alarm", "", 1))).message).toContain("nonempty");
    expect((await rejection(wheel.set("alarm", "\ud800", 1))).message).toContain("well-formed");
    await good;
    expect(index.get("alarm", "good")).not.toBeNull();
  });

  test("close waits for running handlers, which may still set times, and refuses afterwards", async () => {
    const gate = Promise.withResolvers<void>();
    wheel.register("alarm", async ({ key, dueAtMs }) => {
      await gate.promise;
      await wheel.set("alarm", key, dueAtMs + 1_000);
    });
    await wheel.set("alarm", "a", clock.nowMs());
    await wheel.set("alarm", "b", clock.nowMs() + 10);
    await settle();
    let closed = false;
    const closing = wheel.close().then(() => {
      closed = true;
    });
    await clock.advance(1_000);
    expect(closed).toBe(false);
    gate.resolve();
    await closing;
    expect(index.get("alarm", "a")?.attempts).toBe(0);
    expect(index.get("alarm", "b")).not.toBeNull();
    expect(await rejectionCode(wheel.set("alarm", "a", 1))).toBe("temporarily_unavailable");
  });
});

describe("short waits", () => {
  test("H1: they follow running time, whatever the wall clock does", async () => {
    const fired: string[] = [];
    wheel.after(1_000, () => fired.push("a"));
    const cancel = wheel.after(1_000, () => fired.push("cancelled"));
    wheel.after(2 ** 31 + 5, () => fired.push("long"));
    clock.stepWall(YEAR_MS);
    await clock.advance(999);
    clock.stepWall(-3 * YEAR_MS);
    expect(fired).toEqual([]);
    cancel();
    cancel();
    await clock.advance(1);
    expect(fired).toEqual(["a"]);
    await clock.advance(2 ** 31 + 5);
    expect(fired).toEqual(["a", "long"]);
  });

  test("an exception in one ends nothing else; nested waits work", async () => {
    const fired: string[] = [];
    wheel.after(10, () => {
      throw new Error("boom");
    });
    wheel.after(10, () => {
      wheel.after(0, () => fired.push("nested"));
      fired.push("outer");
    });
    await clock.advance(10);
    expect(fired).toEqual(["outer", "nested"]);
  });

  test("close drops them", async () => {
    let fired = false;
    wheel.after(10, () => {
      fired = true;
    });
    await wheel.close();
    await clock.advance(1_000);
    expect(fired).toBe(false);
  });
});

describe("WheelClock", () => {
  test("H3: a thousand waits of a Clock cost one platform timer, keep their order and can be cancelled", async () => {
    const counted = new CountingClock();
    const own = new Wheel({ clock: counted, random: new SeededRandom(1), logger: silentLogger, index });
    const onWheel = new WheelClock(counted, own);
    const fired: number[] = [];
    const cancels = Array.from({ length: 1_000 }, (_, i) => onWheel.after(i % 100, () => fired.push(i)));
    for (let i = 0; i < 1_000; i += 2) cancels[i]?.();
    onWheel.after(-5, () => fired.push(-1));
    onWheel.after(Number.MAX_SAFE_INTEGER, () => fired.push(-2));
    expect(onWheel.nowMs()).toBe(clock.nowMs());
    await clock.advance(100);
    expect(fired[0]).toBe(-1);
    expect(fired).toHaveLength(501);
    const delays = fired.slice(1).map((i) => i % 100);
    expect(delays).toEqual(delays.toSorted((a, b) => a - b));
    expect(counted.pendingMax).toBe(1);
  });
});

test("back-off doubles from a second to five minutes, with at most half taken off", () => {
  const random = new SeededRandom(3);
  for (let attempt = 1; attempt < 60; attempt++) {
    const full = Math.min(1_000 * 2 ** (attempt - 1), BACKOFF_MS_MAX);
    const waitMs = backoffMs(attempt, random);
    expect(waitMs).toBeGreaterThanOrEqual(full / 2);
    expect(waitMs).toBeLessThanOrEqual(full);
  }
  expect(PAGE_ENTRIES).toBeLessThan(MEMORY_MAX);
});
