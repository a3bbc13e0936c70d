import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { AtollError } from "../../../../base/errors.ts";
import { SeededRandom } from "../../../../base/random.ts";
import { nextLogPhase } from "../../../../storage/shard-log/log-phase.ts";
import { layOutRecord, sealRecord } from "../../../../storage/shard-log/log-record.ts";
import type { LogEntry } from "../../../../storage/shard-log/log-scan.ts";
import { ShardLog, type ShardLogOptions } from "../../../../storage/shard-log/shard-log.ts";
import { rejectionCode } from "../../../support/rejection.ts";
import { SimulatedLogDisk } from "./simulated-log-disk.ts";

const random = new SeededRandom(1);

function optionsFor(disk: SimulatedLogDisk, epoch: number, more: Partial<ShardLogOptions> = {}): ShardLogOptions {
  return { disk, epoch, assertCurrent: () => {}, durability: "strict", random, aheadBytes: 4096, ...more };
}

async function reopened(disk: SimulatedLogDisk, epoch: number): Promise<{ log: ShardLog; payloads: string[] }> {
  const payloads: string[] = [];
  const log = await ShardLog.open(optionsFor(disk, epoch), ({ payload }) => {
    payloads.push(Buffer.from(payload).toString());
  });
  return { log, payloads };
}

const record = (text: string) => ({ kind: 1, key: "namespace/actor", payload: Buffer.from(text) });
const append = (log: ShardLog, text: string): number => log.append(record(text)).sequence;
const firstSegment = (disk: SimulatedLogDisk): string => [...disk.list()].sort()[0] ?? "";

async function written(disk: SimulatedLogDisk, texts: readonly string[]): Promise<ShardLog> {
  const log = await ShardLog.open(optionsFor(disk, 1));
  for (const text of texts) await log.durable(append(log, text));
  return log;
}

describe("group commit", () => {
  test("everything appended in one round of the loop shares one sync", async () => {
    const disk = new SimulatedLogDisk(1);
    const log = await ShardLog.open(optionsFor(disk, 1));
    const before = disk.syncs;
    await Promise.all(Array.from({ length: 50 }, (_, i) => log.durable(append(log, `${i}`))));
    expect(disk.syncs - before).toBe(1);
    expect(log.backlogBytes).toBe(0);
  });

  test("a batch is bounded, so that the first of a backlog does not wait for the last", async () => {
    const disk = new SimulatedLogDisk(1);
    const log = await ShardLog.open(optionsFor(disk, 1, { batchBytesMax: 1000 }));
    const before = disk.syncs;
    for (let i = 0; i < 10; i++) append(log, "x".repeat(900));
    const syncsAtFirst = log.durable(1).then(() => disk.syncs - before);
    await log.durable(10);
    expect(await syncsAtFirst).toBeLessThan(3);
    expect(disk.syncs - before).toBeGreaterThanOrEqual(5);
  });

  test("relaxed durability acknowledges without a sync, and syncs when asked", async () => {
    const disk = new SimulatedLogDisk(1);
    const log = await ShardLog.open(optionsFor(disk, 1, { durability: "relaxed" }));
    const before = disk.syncs;
    await log.durable(append(log, "a"));
    expect(disk.syncs).toBe(before);
    await log.synced(1);
    expect(disk.syncs).toBe(before + 1);
  });
});

describe("torn tails and damage", () => {
  test("a tail cut or torn at any byte loses that record and nothing before it", async () => {
    const texts = ["first", "second", "the third, which is torn"];
    const pristine = new SimulatedLogDisk(1);
    const places: { position: number; bytes: number }[] = [];
    const log = await written(pristine, texts.slice(0, 2));
    places.push(log.append(record(texts[2] ?? "")).place);
    await log.durable(3);
    const { position = 0, bytes = 0 } = places[0] ?? {};
    for (let at = position; at < position + bytes; at++) {
      for (const harm of ["cut", "damage"] as const) {
        const disk = new SimulatedLogDisk(1);
        const again = await written(disk, texts);
        expect(again.lastSequence).toBe(3);
        disk[harm](firstSegment(disk), at);
        const { payloads, log: next } = await reopened(disk, 2);
        // Padding carries nothing, so its loss harms nothing unless the file ends in it.
        const inPadding = harm === "damage" && at >= position + 40 + 15 + (texts[2]?.length ?? 0);
        expect(payloads).toEqual(inPadding ? texts : texts.slice(0, 2));
        expect(next.lastSequence).toBe(inPadding ? 3 : 2);
      }
    }
  });

  test("damage before a record that was synced later refuses, and names the place", async () => {
    const disk = new SimulatedLogDisk(1);
    await written(disk, ["a", "b", "c"]);
    disk.damage(firstSegment(disk), 48 + 44);
    const failure = await reopened(disk, 2).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(AtollError);
    expect((failure as AtollError).code).toBe("log_damaged");
    expect((failure as AtollError).message).toContain(`segment ${firstSegment(disk)} at byte 48`);
    expect(disk.list()).toHaveLength(1);
  });

  test("after a clean close even the last record cannot vanish unnoticed", async () => {
    const disk = new SimulatedLogDisk(1);
    const log = await written(disk, ["a", "b"]);
    const { position } = log.append(record("c")).place;
    await log.close();
    disk.damage(firstSegment(disk), position + 44);
    expect(await rejectionCode(reopened(disk, 2))).toBe("log_damaged");
  });

  test("a segment that is missing, or comes from another log, is damage", async () => {
    const disk = new SimulatedLogDisk(1);
    const log = await ShardLog.open(optionsFor(disk, 1, { segmentBytes: 200 }));
    for (const text of ["a", "b", "c", "d", "e", "f", "g", "h"]) await log.durable(append(log, text.repeat(60)));
    const names = [...disk.list()].sort();
    expect(names.length).toBeGreaterThan(4);
    disk.remove(names[2] ?? "");
    expect(await rejectionCode(reopened(disk, 2))).toBe("log_damaged");

    const [one, other] = [new SimulatedLogDisk(1), new SimulatedLogDisk(1)];
    for (const disk of [one, other]) {
      const log = await ShardLog.open(optionsFor(disk, 1, { segmentBytes: 200 }));
      for (const text of ["a", "b", "c"]) await log.durable(append(log, text.repeat(100)));
    }
    const second = [...one.list()].sort()[1] ?? "";
    other.bytesOf(second).copy(one.bytesOf(second));
    expect(await rejectionCode(reopened(one, 2))).toBe("log_damaged");
  });

  test("a tenant's bytes that look like a record do not pass for a witness", async () => {
    const forged = layOutRecord(record("forged"), 1, 3);
    sealRecord(forged, 2 ** 40, 0);
    const disk = new SimulatedLogDisk(1);
    const log = await written(disk, ["a"]);
    // The key's 15 bytes and the 40 of the header leave one more byte to the next multiple of 8.
    const { place } = log.append({ ...record(""), payload: Buffer.concat([Buffer.alloc(1), forged]) });
    await log.durable(2);
    expect(disk.bytesOf(place.segment).readUInt32LE(place.position + 56)).toBe(forged.readUInt32LE(0));
    disk.damage(place.segment, place.position + 8);
    expect((await reopened(disk, 2)).payloads).toEqual(["a"]);
  });
});

describe("faults of the disk", () => {
  test("short writes are completed", async () => {
    const disk = new SimulatedLogDisk(1);
    disk.biteBytes = 7;
    await written(disk, ["hello", "world"]);
    expect((await reopened(disk, 2)).payloads).toEqual(["hello", "world"]);
  });

  test("a failed sync breaks the log for good and acknowledges nothing, though the next sync would succeed", async () => {
    const disk = new SimulatedLogDisk(1);
    const log = await written(disk, ["kept"]);
    disk.syncFailures = 1;
    const [second, third] = [log.durable(append(log, "lost?")), log.durable(append(log, "lost too?"))];
    expect(await rejectionCode(second)).toBe("log_broken");
    expect(await rejectionCode(third)).toBe("log_broken");
    expect(log.phase).toBe("broken");
    expect(() => append(log, "more")).toThrow("the disk failed");
    expect(await rejectionCode(log.durable(2))).toBe("log_broken");
    await log.durable(1);
    const syncs = disk.syncs;
    await log.close();
    expect(disk.syncs).toBe(syncs);
  });

  test("a full disk breaks the log; what had been acknowledged is there when there is room again", async () => {
    const disk = new SimulatedLogDisk(1);
    const log = await written(disk, ["kept"]);
    disk.roomBytes = 100;
    expect(await rejectionCode(log.durable(append(log, "x".repeat(5000))))).toBe("log_broken");
    disk.roomBytes = Number.POSITIVE_INFINITY;
    disk.losePower();
    expect((await reopened(disk, 2)).payloads[0]).toBe("kept");
  });

  test("what a failed sync left in the cache only is written again before it is built upon", async () => {
    const disk = new SimulatedLogDisk(3);
    const log = await written(disk, ["kept"]);
    disk.syncFailures = 1;
    await log.durable(append(log, "in the cache")).catch(() => {});
    const { payloads } = await reopened(disk, 2);
    expect(payloads).toEqual(["kept", "in the cache"]);
    disk.losePower();
    expect((await reopened(disk, 3)).payloads).toEqual(["kept", "in the cache"]);
  });
});

describe("the fence", () => {
  const stale = new AtollError("stale_epoch", "taken over");

  test("an owner acknowledges nothing once a later one has claimed the shard, even what is synced already", async () => {
    const disk = new SimulatedLogDisk(1);
    let syncsAtClaim = Number.POSITIVE_INFINITY;
    const assertCurrent = (): void => {
      if (disk.syncs >= syncsAtClaim) throw stale;
    };
    const log = await ShardLog.open(optionsFor(disk, 1, { assertCurrent }));
    await log.durable(append(log, "a"));
    syncsAtClaim = disk.syncs + 1;
    expect(await rejectionCode(log.durable(append(log, "b")))).toBe("stale_epoch");
    expect(log.phase).toBe("fenced");
    expect(() => append(log, "c")).toThrow("taken over");
  });

  test("what a stale owner still writes is passed over, in its own segment and in new ones", async () => {
    const disk = new SimulatedLogDisk(1);
    const old = await ShardLog.open(optionsFor(disk, 1, { segmentBytes: 200 }));
    await old.durable(append(old, "a".repeat(60)));
    const { log, payloads } = await reopened(disk, 2);
    expect(payloads).toHaveLength(1);
    for (let i = 0; i < 5; i++) await old.durable(append(old, "stale".repeat(20)));
    await log.durable(append(log, "b"));
    const seen = await reopened(disk, 3);
    expect(seen.payloads).toEqual(["a".repeat(60), "b"]);
    expect(disk.list()).toHaveLength(3);
  });

  test("an owner without a claim, or with an old one, cannot open the log", async () => {
    const disk = new SimulatedLogDisk(1);
    await (await reopened(disk, 5)).log.close();
    const names = disk.list().join();
    expect(await rejectionCode(ShardLog.open(optionsFor(disk, 5)))).toBe("stale_epoch");
    const assertCurrent = (): void => {
      throw stale;
    };
    expect(await rejectionCode(ShardLog.open(optionsFor(disk, 6, { assertCurrent })))).toBe("stale_epoch");
    expect(disk.list().join()).toBe(names);
  });
});

describe("segments", () => {
  test("records cross segments, oversized ones included, can be read from their places, and go when released", async () => {
    const disk = new SimulatedLogDisk(1);
    const log = await ShardLog.open(optionsFor(disk, 1, { segmentBytes: 1000 }));
    const texts = Array.from({ length: 20 }, (_, i) => `${i}`.repeat(i === 10 ? 4000 : 100));
    const places = texts.map((text) => log.append(record(text)).place);
    await log.durable(20);
    expect(places.map((place) => log.read(place).toString())).toEqual(texts);

    const bytes = log.retainedBytes;
    await log.release(15);
    expect(log.firstSequence).toBeGreaterThan(10);
    expect(log.firstSequence).toBeLessThanOrEqual(15);
    expect(log.retainedBytes).toBeLessThan(bytes);
    await log.release(1000);
    await log.close();
    const found: LogEntry[] = [];
    const next = await ShardLog.open(optionsFor(disk, 2), (entry) => found.push(entry));
    expect(found.at(-1)?.sequence).toBe(20);
    // The mark of the clean close has a sequence of its own.
    expect(append(next, "go on")).toBe(22);
  });

  test("sequences go on when nothing but an empty segment is left", async () => {
    const disk = new SimulatedLogDisk(1);
    await (await written(disk, ["a", "b"])).close();
    for (let epoch = 2; epoch < 6; epoch++) {
      const { log } = await reopened(disk, epoch);
      expect(log.lastSequence).toBe(3);
      await log.release(1000);
      expect(disk.list()).toHaveLength(1);
    }
  });

  test("a read of a place that does not hold the record refuses", async () => {
    const disk = new SimulatedLogDisk(1);
    const log = await written(disk, ["a"]);
    const { place } = log.append(record("b"));
    await log.durable(2);
    expect(() => log.read({ ...place, bytes: place.bytes + 8 })).toThrow("damaged");
    disk.damage(place.segment, place.position + 41);
    expect(() => log.read(place)).toThrow("damaged");
  });
});

test("a log's life has the phases of the picture and no others", () => {
  const reason = new AtollError("log_broken", "x");
  const changes = [
    { type: "close" },
    { type: "closed" },
    { type: "broke", reason },
    { type: "fenced", reason },
  ] as const;
  const phases = [
    { phase: "open" },
    { phase: "closing" },
    { phase: "closed" },
    { phase: "broken", reason },
    { phase: "fenced", reason },
  ] as const;
  const legal = new Set([
    "open close",
    "open broke",
    "open fenced",
    "closing closed",
    "closing broke",
    "closing fenced",
  ]);
  fc.assert(
    fc.property(fc.constantFrom(...phases), fc.constantFrom(...changes), (phase, change) => {
      const act = () => nextLogPhase(phase, change);
      if (legal.has(`${phase.phase} ${change.type}`)) expect(act().phase).not.toBe(phase.phase);
      else expect(act).toThrow("cannot take");
    }),
  );
});
