// The bench's own arithmetic and its register: what a wrong number would be blamed on last.
import { describe, expect, test } from "bun:test";
import { readResult } from "../../../bench/load/wrk.ts";
import { measure, type Plan } from "../../../bench/measure.ts";
import { readOptions } from "../../../bench/options.ts";
import type { Peer } from "../../../bench/peer.ts";
import { allPeers } from "../../../bench/peers/registry.ts";
import { resultOf, textOf } from "../../../bench/report.ts";
import type { Metric, Row, Sample } from "../../../bench/row.ts";
import { ALL_ROWS, selectRows } from "../../../bench/rows/registry.ts";
import { advantage, median } from "../../../bench/stats.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

const RATE: Metric = { name: "rate", unit: "/s", better: "more" };
const DELAY: Metric = { name: "delay", unit: "ms", better: "less" };

describe("the bench's statistics", () => {
  test("a median is the middle value, or the mean of the two middle ones, in any order", () => {
    expect(median([3, 1, 20])).toBe(3);
    expect(median([4, 1, 20, 2])).toBe(3);
    expect(median([9, 10, 100])).toBe(10); // by value, never by spelling
    expect(() => median([])).toThrow(RangeError);
  });

  test("an advantage pairs the rounds and is above 1 when the subject is better, whichever direction is good", () => {
    const ours = { peer: "a", samples: [{ rate: 200 }, { rate: 90 }, { rate: 400 }] };
    const theirs = { peer: "b", samples: [{ rate: 100 }, { rate: 30 }, { rate: 400 }] };
    expect(advantage(RATE, ours, theirs)).toEqual({ median: 2, min: 1, max: 3 });
    const quick = { peer: "a", samples: [{ delay: 5 }] };
    const slow = { peer: "b", samples: [{ delay: 20 }] };
    expect(advantage(DELAY, quick, slow).median).toBe(4);
    expect(advantage(DELAY, slow, quick).median).toBe(0.25);
  });

  test("a missing value or a missing round is a fault, not a number", () => {
    const two = { peer: "a", samples: [{ rate: 1 }, { rate: 2 }] };
    expect(() => advantage(RATE, two, { peer: "b", samples: [{ rate: 1 }] })).toThrow("different numbers of rounds");
    expect(() => advantage(DELAY, two, two)).toThrow("a has no value of delay");
  });
});

describe("the bench's load", () => {
  const line = (bad: number): string =>
    `Running 1s test\n\nBENCH {"requests":500,"us":2000000,"bytes":1,"bad":${bad},"p50us":1500,"p99us":9000}\n`;

  test("a result is read from what wrk prints", () => {
    expect(readResult(line(0))).toEqual({ requestsPerSecond: 250, p50Ms: 1.5, p99Ms: 9 });
  });

  test("a load with failed requests has no result", () => {
    expect(() => readResult(line(1))).toThrow("1 of 500 requests failed");
    expect(() => readResult("unable to connect")).toThrow("nothing that can be read");
  });
});

describe("the bench's register", () => {
  test("names are unique, and every row says for each side what it gives", () => {
    const names = ALL_ROWS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    const peers = allPeers("elsewhere").map(({ name }) => name);
    for (const { name, metrics, gives } of ALL_ROWS) {
      expect(name).toMatch(/^[a-z0-9-]+$/);
      expect(metrics.length).toBeGreaterThan(0);
      for (const [peer, words] of Object.entries(gives)) {
        expect(peers).toContain(peer);
        expect(words).not.toBe("");
      }
      expect(gives).toHaveProperty("atoll");
    }
  });

  test("rows are chosen by name or beginning, in their own order; an unknown name is an error", () => {
    expect(selectRows(ALL_ROWS, [])).toEqual([...ALL_ROWS]);
    const names = (chosen: readonly string[]): string[] => selectRows(ALL_ROWS, chosen).map(({ name }) => name);
    expect(names(["start-*", "fetch", "fetch"])).toEqual(["fetch", "start-empty", "start-one", "start-1000"]);
    expect(() => names(["nothing"])).toThrow("there is no row nothing");
  });

  test("options have defaults, and nonsense is refused", () => {
    expect(readOptions(["fetch"])).toMatchObject({ command: "run", rows: ["fetch"], rounds: 3, seconds: 5 });
    expect(readOptions(["--rounds=7", "--seconds", "1"])).toMatchObject({ rounds: 7, seconds: 1, rows: [] });
    for (const bad of [["--rounds=0"], ["--seconds=x"], ["--connections=1.5"], ["--nonsense"]]) {
      expect(() => readOptions(bad)).toThrow();
    }
  });
});

describe("a run of the bench", () => {
  const peer = (name: string): Peer => ({
    name,
    version: () => Promise.resolve("1"),
    prepare: () => Promise.reject(new Error("not asked for")),
  });

  const rowOf = (log: string[], sample: (peer: string) => Sample): Row => ({
    name: "row",
    title: "a row",
    metrics: [RATE],
    gives: { a: "all", b: "nothing" },
    open: ({ name }) => {
      log.push(`open ${name}`);
      return Promise.resolve({
        warmUp: async () => void log.push(`warm ${name}`),
        sample: async () => {
          log.push(`sample ${name}`);
          return sample(name);
        },
        close: async () => void log.push(`close ${name}`),
      });
    },
  });

  const plan = (scratch: string): Plan => ({ rounds: 2, seconds: 1, connections: 1, scratch, say: () => {} });

  test("measures the peers in turn, after all are warm, and reports the ratios", async () => {
    using scratch = temporaryDirectory();
    const log: string[] = [];
    const row = rowOf(log, (name) => ({ rate: name === "a" ? 3_000 : 1_000 }));
    const series = await measure(row, [peer("a"), peer("b")], plan(scratch.path));
    expect(log).toEqual([
      ...["open a", "open b", "warm a", "warm b"],
      ...["sample a", "sample b", "sample a", "sample b"],
      ...["close a", "close b"],
    ]);
    const result = resultOf(row, series);
    expect(result.metrics[0]?.advantage).toEqual({ b: { median: 3, min: 3, max: 3 } });
    expect(result.gives).toEqual({ a: "all", b: "nothing" });
    const text = textOf(result);
    for (const words of ["row: a row", "a: all", "3,000 (3,000 – 3,000)", "× 3.00"]) expect(text).toContain(words);
  });

  test("a peer that cannot be measured fails the row and leaves nothing running", async () => {
    using scratch = temporaryDirectory();
    const log: string[] = [];
    const row = rowOf(log, (name) => {
      if (name === "b") throw new Error("b answered wrongly");
      return { rate: 1 };
    });
    await expect(measure(row, [peer("a"), peer("b")], plan(scratch.path))).rejects.toThrow("b answered wrongly");
    expect(log.slice(-2)).toEqual(["close a", "close b"]);
  });
});
