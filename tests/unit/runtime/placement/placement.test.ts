import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { KeySpace, SHARDS_MAX, shardId } from "../../../../runtime/placement/placement.ts";
import { type LocalShard, SingleNodePlacement } from "../../../../runtime/placement/single-node-placement.ts";

/** The definition, in exact arithmetic. */
function shardByDefinition(key: string, count: number): number {
  const hash = new Bun.CryptoHasher("sha256").update(key).digest();
  return Number((hash.readBigUInt64BE(0) * BigInt(count)) >> 64n);
}

describe("KeySpace", () => {
  test("every key has one shard: its 64-bit hash scaled to the number of shards, exactly", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 1, max: SHARDS_MAX }), (key, count) => {
        expect(new KeySpace(count).shardOf(key)).toBe(shardId(shardByDefinition(key, count)));
      }),
    );
  });

  test("ranges are contiguous: splitting every shard in two keeps each key with its half", () => {
    fc.assert(
      fc.property(fc.string(), fc.integer({ min: 1, max: SHARDS_MAX / 2 }), (key, count) => {
        const coarse = Number.parseInt(new KeySpace(count).shardOf(key), 16);
        const fine = Number.parseInt(new KeySpace(count * 2).shardOf(key), 16);
        expect(Math.floor(fine / 2)).toBe(coarse);
      }),
    );
  });

  test("the mapping is pinned: these keys never move", () => {
    const space = new KeySpace(16);
    expect(["a/1", "a/2", "namespace/actor", "キー"].map((key) => space.shardOf(key) as string)).toEqual([
      "0007",
      "0000",
      "0002",
      "0001",
    ]);
    expect(new KeySpace(1).shardOf("anything") as string).toBe("0000");
  });

  test("keys spread evenly", () => {
    const space = new KeySpace(8);
    const counts = new Map<string, number>();
    for (let i = 0; i < 8_000; i++) {
      const shard = space.shardOf(`namespace/${i}`);
      counts.set(shard, (counts.get(shard) ?? 0) + 1);
    }
    expect(counts.size).toBe(8);
    for (const count of counts.values()) expect(Math.abs(count - 1_000)).toBeLessThan(150);
  });

  test("an impossible number of shards is refused", () => {
    for (const count of [0, -1, 1.5, SHARDS_MAX + 1, Number.NaN]) expect(() => new KeySpace(count)).toThrow("1..65536");
    for (const index of [-1, 0.5, SHARDS_MAX]) expect(() => shardId(index)).toThrow("0..65535");
  });
});

test("a single node serves its open shards here, and a closing or unknown one nowhere", async () => {
  const shard: { -readonly [Key in keyof LocalShard]: LocalShard[Key] } = { id: shardId(0), epoch: 4, phase: "open" };
  const placement = new SingleNodePlacement([shard]);
  expect(await placement.locate(shardId(0))).toEqual({ at: "here", epoch: 4 });
  expect((await placement.locate(shardId(1))).at).toBe("nowhere");
  shard.phase = "closing";
  expect((await placement.locate(shardId(0))).at).toBe("nowhere");
});
