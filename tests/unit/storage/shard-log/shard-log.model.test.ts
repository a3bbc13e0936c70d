// Random histories of a log on a disk that loses power at any operation, against a list in memory.
import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { SeededRandom } from "../../../../base/random.ts";
import { ShardLog } from "../../../../storage/shard-log/shard-log.ts";
import { SimulatedLogDisk } from "./simulated-log-disk.ts";

interface Life {
  readonly appends: readonly { readonly size: number; readonly wait: boolean }[];
  readonly powerOffAfter: number;
  readonly end: "power" | "kill" | "close";
  readonly release: number;
}

const life: fc.Arbitrary<Life> = fc.record({
  appends: fc.array(fc.record({ size: fc.integer({ min: 0, max: 1500 }), wait: fc.boolean() }), { maxLength: 30 }),
  powerOffAfter: fc.integer({ min: 0, max: 80 }),
  end: fc.constantFrom("power", "kill", "close"),
  release: fc.integer({ min: 0, max: 100 }),
});

function payload(sequence: number, size: number): Buffer {
  return Buffer.from(new SeededRandom(sequence * 7919 + size).bytes(size));
}

async function live(
  durability: "strict" | "relaxed",
  seed: number,
  lives: readonly Life[],
): Promise<{ readonly acknowledged: number }> {
  const disk = new SimulatedLogDisk(seed);
  const random = new SeededRandom(seed);
  let model: { readonly sequence: number; readonly bytes: Buffer }[] = [];
  let durable = 0;
  let floor = 1;
  let acknowledged = 0;
  for (const [index, { appends, powerOffAfter, end, release }] of lives.entries()) {
    const found: { readonly sequence: number; readonly bytes: Buffer }[] = [];
    const options = { disk, epoch: index + 1, assertCurrent: () => {}, durability, random } as const;
    // Small, so that every life crosses segments.
    const sizes = { segmentBytes: 4096, batchBytesMax: 2048, aheadBytes: 1024 };
    const log = await ShardLog.open({ ...options, ...sizes }, (entry) => {
      expect(entry.key).toBe(`actor-${entry.sequence % 3}`);
      found.push({ sequence: entry.sequence, bytes: Buffer.from(entry.payload) });
    });
    // What came back is one piece of the history, reaches all that was promised, and invents nothing.
    const last = Math.max(found.at(-1)?.sequence ?? 0, durable);
    expect(found.filter(({ sequence }) => sequence >= floor)).toEqual(
      model.filter(({ sequence }) => sequence >= floor && sequence <= last),
    );
    model = found;
    durable = log.lastSequence;

    disk.powerOffAfter(end === "close" ? Number.POSITIVE_INFINITY : powerOffAfter);
    for (const { size, wait } of appends) {
      if (log.phase !== "open") break;
      const sequence = log.lastSequence + 1;
      const bytes = payload(sequence, size);
      model.push({ sequence: log.append({ kind: 1, key: `actor-${sequence % 3}`, payload: bytes }).sequence, bytes });
      const promise = log.durable(sequence).then(
        () => {
          durable = Math.max(durable, sequence);
          acknowledged++;
        },
        () => {},
      );
      if (wait) await promise;
    }
    if (end === "close") {
      await log.close();
      expect(durable).toBeGreaterThanOrEqual(model.at(-1)?.sequence ?? 0);
    } else {
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    if (release <= durable && log.phase === "open") {
      await log.release(release).catch(() => {});
      floor = Math.max(floor, release);
    }
    // Everything that still moves in the old life fails from here on, as it would in a process that is gone.
    disk.powerOffAfter(0);
    for (let i = 0; i < 3; i++) await new Promise<void>((resolve) => setImmediate(resolve));
    if (end === "kill" || durability === "relaxed") disk.killProcess();
    else disk.losePower();
  }
  return { acknowledged };
}

test("nothing acknowledged is lost, and nothing is made up, over lives that end in a loss of power", async () => {
  let acknowledged = 0;
  await fc.assert(
    fc.asyncProperty(fc.integer(), fc.array(life, { minLength: 2, maxLength: 5 }), async (seed, lives) => {
      acknowledged += (await live("strict", seed, lives)).acknowledged;
    }),
    { numRuns: 250 },
  );
  expect(acknowledged).toBeGreaterThan(1000);
});

test("relaxed durability survives the death of the process at any operation", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer(), fc.array(life, { minLength: 2, maxLength: 5 }), async (seed, lives) => {
      await live("relaxed", seed, lives);
    }),
    { numRuns: 100 },
  );
});
