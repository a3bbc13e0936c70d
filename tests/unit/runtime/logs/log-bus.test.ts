import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { ResourceUid, SpaceName } from "../../../../base/ids.ts";
import { LogBus, type LogBusLimits } from "../../../../runtime/logs/log-bus.ts";
import type { LogEntry } from "../../../../runtime/logs/log-entry.ts";
import { EVERYTHING, type LogFilter } from "../../../../runtime/logs/log-filter.ts";
import type { LogSubscription } from "../../../../runtime/logs/log-subscription.ts";

const LIMITS: LogBusLimits = {
  lines: { entriesMax: 4, charsMax: 10_000 },
  requests: { entriesMax: 2, charsMax: 10_000 },
  workersMax: 2,
  subscription: { entriesMax: 3, charsMax: 10_000 },
};

const AT_MS = Date.UTC(2026, 0, 1);

function line(
  message: string,
  more: Partial<Omit<Extract<LogEntry, { kind: "console" | "error" }>, "kind">> = {},
): LogEntry {
  const worker = more.worker ?? "w";
  return {
    kind: "console",
    atMs: AT_MS,
    space: "default" as SpaceName,
    worker,
    workerUid: `uid-${worker}` as ResourceUid,
    version: "v",
    versionUid: "uid-v" as ResourceUid,
    invocation: null,
    level: "info",
    message,
    ...more,
  };
}

function request(path: string, worker = "w"): LogEntry {
  const { space, workerUid, version, versionUid } = line("", { worker });
  const who = { space, worker, workerUid, version, versionUid, invocation: "1-1" };
  const answer = { method: "GET", path, status: 200, durationMs: 1, outcome: "ok" } as const;
  return { kind: "request", atMs: AT_MS, level: "info", ...who, ...answer };
}

const text = (entry: LogEntry): string => (entry.kind === "request" ? entry.path : entry.message);
const taken = (subscription: LogSubscription, countMax = 100): readonly string[] =>
  subscription.take(countMax).entries.map(({ entry }) => text(entry));
const past = (bus: LogBus, filter: Partial<LogFilter> = {}): readonly string[] =>
  taken(bus.subscribe({ ...EVERYTHING, ...filter }, { from: "tail", count: 100 }));

describe("LogBus", () => {
  test("L3: a Worker displaces its own entries only, and requests never displace lines", () => {
    const bus = new LogBus(LIMITS);
    bus.publish(line("quiet", { worker: "quiet" }));
    for (let i = 1; i <= 6; i++) bus.publish(line(`l${i}`));
    for (let i = 1; i <= 4; i++) bus.publish(request(`/r${i}`));
    expect(past(bus)).toEqual(["quiet", "l3", "l4", "l5", "l6", "/r3", "/r4"]);
    expect(past(bus, { worker: "quiet" })).toEqual(["quiet"]);
  });

  test("L2: of too many Workers the one that was silent for longest gives way", () => {
    const bus = new LogBus(LIMITS);
    for (const worker of ["a", "b"]) bus.publish(line(worker, { worker }));
    bus.publish(line("a again", { worker: "a" }));
    bus.publish(line("c", { worker: "c" }));
    expect(past(bus)).toEqual(["a", "a again", "c"]);
  });

  test("L2: long texts displace more, but the newest is always kept", () => {
    const bus = new LogBus({ ...LIMITS, lines: { entriesMax: 4, charsMax: 300 } });
    for (const message of ["a", "b", "c".repeat(200)]) bus.publish(line(message));
    expect(past(bus).map((it) => it.length)).toEqual([200]);
    bus.publish(line("d".repeat(9_000)));
    expect(past(bus).map((it) => it.length)).toEqual([9_000]);
  });

  test("L4: a listener that is too slow gets what fitted, then the count, then what came after it took them", () => {
    const bus = new LogBus(LIMITS);
    const slow = bus.subscribe(EVERYTHING, { from: "now" });
    for (let i = 1; i <= 5; i++) bus.publish(line(`l${i}`));
    expect(slow.take(2)).toMatchObject({ lost: 0 });
    // Room again, but what comes now lies behind the gap.
    bus.publish(line("l6"));
    const { entries, lost } = slow.take(10);
    expect([entries.map(({ entry }) => text(entry)), lost]).toEqual([["l3"], 3]);
    bus.publish(line("l7"));
    expect(taken(slow)).toEqual(["l7"]);
    expect([bus.lost, bus.published]).toEqual([3, 7]);
  });

  test("HA-50: neither entries nor counts nor gaps speak of Spaces that a filter leaves out", () => {
    const bus = new LogBus(LIMITS);
    const mine = bus.subscribe({ ...EVERYTHING, spaces: new Set(["mine" as SpaceName]) }, { from: "now" });
    const theirs = { space: "theirs" as SpaceName };
    for (let i = 0; i < 20; i++) bus.publish(line("secret", theirs));
    bus.publish(line("own", { space: "mine" as SpaceName, worker: "m" }));
    expect(mine.take(10)).toMatchObject({ lost: 0, entries: [{ entry: { message: "own" } }] });
    const filter = { ...EVERYTHING, spaces: new Set(["mine" as SpaceName]) };
    expect(bus.subscribe(filter, { from: "after", seq: 1 }).gap).toBe(false);
    expect(bus.subscribe(EVERYTHING, { from: "after", seq: 1 }).gap).toBe(true);
  });

  test("L4: who resumes gets what followed, and is told when some of it is gone", () => {
    const bus = new LogBus(LIMITS);
    for (let i = 1; i <= 5; i++) bus.publish(line(`l${i}`));
    const resumed = bus.subscribe(EVERYTHING, { from: "after", seq: 3 });
    expect([taken(resumed), resumed.gap]).toEqual([["l4", "l5"], false]);
    bus.publish(line("l6"));
    const late = bus.subscribe(EVERYTHING, { from: "after", seq: 1 });
    expect([taken(late), late.gap]).toEqual([["l3", "l4", "l5", "l6"], true]);
    // A Worker of which nothing is kept any more counts, too.
    for (const worker of ["a", "b"]) bus.publish(line(worker, { worker }));
    expect(bus.subscribe(EVERYTHING, { from: "after", seq: 6 }).gap).toBe(false);
    expect(bus.subscribe(EVERYTHING, { from: "after", seq: 5 }).gap).toBe(true);
  });

  test("since and tail: from an instant on, and the newest few", () => {
    const bus = new LogBus(LIMITS);
    for (let i = 1; i <= 4; i++) bus.publish(line(`l${i}`, { atMs: AT_MS + i }));
    expect(taken(bus.subscribe(EVERYTHING, { from: "since", atMs: AT_MS + 2, count: 10 }))).toEqual(["l2", "l3", "l4"]);
    expect(taken(bus.subscribe(EVERYTHING, { from: "since", atMs: AT_MS, count: 1 }))).toEqual(["l4"]);
    expect(taken(bus.subscribe(EVERYTHING, { from: "tail", count: 2 }))).toEqual(["l3", "l4"]);
    expect(taken(bus.subscribe(EVERYTHING, { from: "now" }))).toEqual([]);
  });

  test("the past does not use up the room for what comes", () => {
    const bus = new LogBus(LIMITS);
    for (let i = 1; i <= 4; i++) bus.publish(line(`l${i}`));
    const subscription = bus.subscribe(EVERYTHING, { from: "tail", count: 4 });
    for (let i = 5; i <= 7; i++) bus.publish(line(`l${i}`));
    expect(taken(subscription)).toEqual(["l1", "l2", "l3", "l4", "l5", "l6", "l7"]);
    expect(bus.lost).toBe(0);
  });

  test("a closed listener is forgotten, and whoever waits on it goes on", async () => {
    const bus = new LogBus(LIMITS);
    const subscription = bus.subscribe(EVERYTHING, { from: "now" });
    const waiting = subscription.ready();
    expect(bus.listeners).toBe(1);
    bus.close();
    await waiting;
    expect([bus.listeners, subscription.closed]).toEqual([0, true]);
    bus.publish(line("later"));
    expect(taken(subscription)).toEqual([]);
  });

  test("L4, property: however a listener reads, what it gets and what it is told it lost add up, in order", () => {
    const steps = fc.array(fc.oneof(fc.constant("publish" as const), fc.integer({ min: 1, max: 5 })), {
      maxLength: 200,
    });
    fc.assert(
      fc.property(steps, (plan) => {
        const bus = new LogBus(LIMITS);
        const subscription = bus.subscribe(EVERYTHING, { from: "now" });
        let expected = 1;
        const read = (countMax: number): void => {
          const { entries, lost } = subscription.take(countMax);
          for (const { seq } of entries) expect(seq).toBe(expected++);
          expected += lost;
        };
        for (const step of plan) {
          if (step === "publish") bus.publish(line("x"));
          else read(step);
        }
        read(1_000);
        expect(expected).toBe(bus.published + 1);
      }),
    );
  });
});

describe("filters", () => {
  const entries: readonly LogEntry[] = [
    line("debug", { level: "debug" }),
    line("warn", { level: "warn", invocation: "1-2" }),
    { ...line("error", { level: "error" }), kind: "error" } as LogEntry,
    request("/r"),
    line("other", { worker: "other", version: "v2" }),
  ];
  const through = (filter: Partial<LogFilter>): readonly string[] => {
    const bus = new LogBus();
    const live = bus.subscribe({ ...EVERYTHING, ...filter }, { from: "now" });
    for (const entry of entries) bus.publish(entry);
    const found = taken(live);
    // The past and the present know the same filter.
    expect(past(bus, filter)).toEqual(found);
    return found;
  };

  test("by level, kind, Worker, Version (name or uid) and invocation", () => {
    expect(through({})).toEqual(["debug", "warn", "error", "/r", "other"]);
    expect(through({ levelMin: "warn" })).toEqual(["warn", "error"]);
    expect(through({ kinds: new Set(["request"]) })).toEqual(["/r"]);
    expect(through({ kinds: new Set(["error", "console"]), levelMin: "error" })).toEqual(["error"]);
    expect(through({ worker: "other" })).toEqual(["other"]);
    expect(through({ worker: "uid-other" })).toEqual(["other"]);
    expect(through({ version: "v2" })).toEqual(["other"]);
    expect(through({ invocation: "1-2" })).toEqual(["warn"]);
  });
});
