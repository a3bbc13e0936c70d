import { describe, expect, test } from "bun:test";
import { SteppedClock } from "../../../../base/stepped-clock.ts";
import type { StopReason } from "../../../../sandbox/cell.ts";
import { CellWatchdog } from "../../../../sandbox/watchdogs/cell-watchdog.ts";

const LIMITS = { cpuMs: 1_000, memoryBytes: 1_000_000 };

function rig() {
  const clock = new SteppedClock();
  const state = {
    cpuMs: 0,
    residentBytes: 5_000_000,
    processFaults: 0,
    cellFaults: 0,
    open: new Set([1]),
    answers: true,
    heapBytes: 0,
  };
  const condemned: StopReason[] = [];
  const pings: boolean[] = [];
  const watchdog: CellWatchdog = new CellWatchdog(clock, LIMITS, {
    cpuMs: () => state.cpuMs,
    memory: () => ({ ...state }),
    ping: (_, collect) => {
      pings.push(collect);
      if (state.answers) watchdog.pong(state.heapBytes, []);
    },
    open: () => state.open,
    condemn: (reason) => {
      condemned.push(reason);
      watchdog.stop();
    },
  });
  return { clock, state, condemned, pings, watchdog };
}

describe("CellWatchdog", () => {
  test("a cell that spins without answering is condemned at its limit, not before", async () => {
    const { clock, state, condemned, watchdog } = rig();
    state.answers = false;
    watchdog.wake();
    for (let used = 0; used < 950; used += 50) {
      await clock.advance(50);
      state.cpuMs += 50;
    }
    expect(condemned).toEqual([]);
    await clock.advance(50);
    state.cpuMs += 50;
    await clock.advance(50);
    expect(condemned).toEqual(["cpu"]);
  });

  test("a cell that answers and waits for an hour is left alone", async () => {
    const { clock, condemned, watchdog } = rig();
    watchdog.wake();
    await clock.advance(120_000);
    expect(condemned).toEqual([]);
  });

  test("a cell that neither answers nor uses CPU is blocked in the engine, and not for ever", async () => {
    const { clock, state, condemned, watchdog } = rig();
    state.answers = false;
    watchdog.wake();
    await clock.advance(3_900);
    expect(condemned).toEqual([]);
    expect(watchdog.blockedFor(3_000)).toBe(true);
    await clock.advance(300);
    expect(condemned).toEqual(["cpu"]);
  });

  /** The process grows by the pages that the cell and others touch; the cell was busy for 50 ms more. */
  const grow = (state: ReturnType<typeof rig>["state"], cellPages: number, otherPages: number): void => {
    state.cpuMs += 50;
    state.residentBytes += (cellPages + otherPages) * 4096;
    state.processFaults += cellPages + otherPages;
    state.cellFaults += cellPages;
  };

  test("a blocked and busy cell is condemned as soon as it has made its process grow by the bound", async () => {
    const { clock, state, condemned, watchdog } = rig();
    state.answers = false;
    watchdog.wake();
    await clock.advance(50);
    grow(state, 220, 10);
    await clock.advance(50);
    expect(condemned).toEqual([]);
    grow(state, 220, 10);
    await clock.advance(50);
    expect(condemned).toEqual(["memory"]);
  });

  test("growth of the process is not blamed on a busy cell that has no part in it, unless it is out of all proportion", async () => {
    const { clock, state, condemned, watchdog } = rig();
    state.answers = false;
    watchdog.wake();
    await clock.advance(50);
    grow(state, 10, 1_900);
    await clock.advance(50);
    expect(condemned).toEqual([]);
    grow(state, 10, 100);
    await clock.advance(50);
    expect(condemned).toEqual(["memory"]);
  });

  test("growth of the process is not blamed on a blocked cell that does nothing", async () => {
    const { clock, state, condemned, watchdog } = rig();
    state.answers = false;
    watchdog.wake();
    await clock.advance(50);
    state.residentBytes += 9_000_000;
    await clock.advance(500);
    expect(condemned).toEqual([]);
  });

  test("a large heap is condemned only when it is no garbage", async () => {
    const { clock, state, condemned, pings, watchdog } = rig();
    state.heapBytes = 2_000_000;
    watchdog.wake();
    await clock.advance(50);
    expect(pings).toEqual([false]);
    state.heapBytes = 10;
    await clock.advance(50);
    expect(pings).toEqual([false, true]);
    expect(condemned).toEqual([]);
    state.heapBytes = 2_000_000;
    await clock.advance(100);
    expect(condemned).toEqual(["memory"]);
  });

  test("a cell without work is looked at now and then, without waking it", async () => {
    const { clock, state, condemned, pings, watchdog } = rig();
    watchdog.wake();
    await clock.advance(50);
    state.open = new Set();
    await clock.advance(60_000);
    expect(pings.length).toBe(1);
    state.cpuMs += 5_000;
    await clock.advance(2_000);
    expect(condemned).toEqual(["cpu"]);
  });

  test("after stop nothing is looked at and nothing condemned", async () => {
    const { clock, state, condemned, pings, watchdog } = rig();
    watchdog.stop();
    watchdog.wake();
    watchdog.pong(9_000_000, []);
    state.cpuMs = 10_000;
    await clock.advance(10_000);
    expect([condemned, pings]).toEqual([[], []]);
  });
});
