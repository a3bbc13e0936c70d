import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { silentLogger } from "../../../../base/log.ts";
import { SystemClock } from "../../../../base/clock.ts";
import { ADVANCE_MS_MAX, TestClock } from "../../../../runtime/time/test-clock.ts";
import { TestClockFile } from "../../../../storage/time/test-clock-file.ts";
import { rejectionCode } from "../../../support/rejection.ts";
import { temporaryDirectory } from "../../../support/temporary-directory.ts";

const open = (directory: string): Promise<TestClock> =>
  TestClock.open({
    file: new TestClockFile(join(directory, "time.json")),
    system: new SystemClock(),
    log: silentLogger,
  });

describe("TestClock", () => {
  test("T1: what falls due fires at its own time, in order, also when it was set on the way", async () => {
    using directory = temporaryDirectory();
    const clock = await open(directory.path);
    const startMs = clock.nowMs();
    const fired: string[] = [];
    const note = (name: string): void => void fired.push(`${name}@${clock.nowMs() - startMs}`);
    clock.after(30, () => note("c"));
    clock.after(10, () => {
      note("a");
      clock.after(10, () => note("b"));
    });
    clock.after(41, () => note("never"));
    expect(await clock.advance(40)).toBe(startMs + 40);
    expect(fired).toEqual(["a@10", "b@20", "c@30"]);
  });

  test("what is due already needs no move", async () => {
    using directory = temporaryDirectory();
    const clock = await open(directory.path);
    await new Promise<void>((resolve) => void clock.after(0, resolve));
    const cancelled = clock.after(0, () => {
      throw new Error("was cancelled");
    });
    cancelled();
    await new Promise<void>((resolve) => void clock.after(0, resolve));
  });

  test("T2: a handler that takes real time ends at its own time, before the next one", async () => {
    using directory = temporaryDirectory();
    const clock = await open(directory.path);
    const startMs = clock.nowMs();
    const seen: number[] = [];
    let busy = false;
    clock.watch(() => busy);
    const round = (): void => {
      busy = true;
      // Real work, outside of the virtual time.
      setTimeout(() => {
        seen.push(clock.nowMs() - startMs);
        busy = false;
        clock.after(1_000, round);
      }, 5);
    };
    clock.after(1_000, round);
    await clock.advance(3_500);
    expect(seen).toEqual([1_000, 2_000, 3_000]);
  });

  test("moves wait for each other", async () => {
    using directory = temporaryDirectory();
    const clock = await open(directory.path);
    const startMs = clock.nowMs();
    expect(await Promise.all([clock.advance(5), clock.advance(10)])).toEqual([startMs + 5, startMs + 15]);
  });

  test("T3: the next run begins where this one had moved to", async () => {
    using directory = temporaryDirectory();
    const first = await open(directory.path);
    const movedToMs = await first.advance(86_400_000);
    expect((await open(directory.path)).nowMs()).toBe(movedToMs);
    await Bun.write(join(directory.path, "time.json"), "{ damaged");
    expect((await open(directory.path)).nowMs()).toBeLessThan(movedToMs);
  });

  test("only forward, by whole milliseconds, within bounds", async () => {
    using directory = temporaryDirectory();
    const clock = await open(directory.path);
    for (const ms of [-1, 0.5, Number.NaN, ADVANCE_MS_MAX + 1]) {
      expect(await rejectionCode(clock.advance(ms))).toBe("invalid_request");
    }
  });
});
