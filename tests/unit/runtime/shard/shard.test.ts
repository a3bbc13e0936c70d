import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { NodeId } from "../../../../base/ids.ts";
import { silentLogger } from "../../../../base/log.ts";
import { SeededRandom } from "../../../../base/random.ts";
import { SteppedClock } from "../../../../base/stepped-clock.ts";
import { shardId } from "../../../../runtime/placement/placement.ts";
import { nextPhase, Shard } from "../../../../runtime/shard/shard.ts";
import { rejectionCode } from "../../../support/rejection.ts";
import { temporaryDirectory } from "../../../support/temporary-directory.ts";

const open = (directory: string, owner = "node-a", clock = new SteppedClock()): Promise<Shard> =>
  Shard.open({
    directory,
    shard: shardId(0),
    owner: owner as NodeId,
    clock,
    random: new SeededRandom(1),
    logger: silentLogger,
  });

describe("Shard", () => {
  test("S2: every opening has a higher epoch, and finds the due times of the one before", async () => {
    using directory = temporaryDirectory();
    const clock = new SteppedClock();
    const first = await open(directory.path, "node-a", clock);
    expect(first.epoch).toBe(1);
    const set = first.wheel.set("alarm", "a", clock.nowMs() + 1_000);
    await clock.advance(0);
    await set;
    await first.close();

    const second = await open(directory.path, "node-b", clock);
    expect(second.epoch).toBe(2);
    const fired: string[] = [];
    second.wheel.register("alarm", ({ key }) => void fired.push(key));
    await clock.advance(1_000);
    expect(fired).toEqual(["a"]);
    await second.close();
  });

  test("S1: while a shard is open nobody else opens it, and a refused opening claims no epoch", async () => {
    using directory = temporaryDirectory();
    const first = await open(directory.path);
    expect(await rejectionCode(open(directory.path, "node-b"))).toBe("data_directory_in_use");
    first.assertCurrent();
    await first.close();
    const next = await open(directory.path, "node-b");
    expect(next.epoch).toBe(2);
    await next.close();
  });

  test("S3: an owner whose epoch was overtaken is told so, whatever it tries", async () => {
    using directory = temporaryDirectory();
    const shard = await open(directory.path);
    // As another machine would do it on a shared file system that does not keep locks.
    await Bun.write(join(directory.path, "shards/0000/epoch"), JSON.stringify({ owner: "node-b", epoch: 2 }));
    expect(() => shard.assertCurrent()).toThrow("epoch 2");
    await shard.close();
  });

  test("a damaged epoch file is no reason to guess: the shard does not open, and can be opened once it is mended", async () => {
    using directory = temporaryDirectory();
    await (await open(directory.path)).close();
    const path = join(directory.path, "shards/0000/epoch");
    for (const bad of ["", "{", "[]", '{"owner":"a"}', '{"owner":"a","epoch":0}', '{"owner":1,"epoch":1}']) {
      await Bun.write(path, bad);
      expect(await rejectionCode(open(directory.path))).toBe("internal_error");
    }
    await Bun.write(path, JSON.stringify({ owner: "node-a", epoch: 7 }));
    const shard = await open(directory.path);
    expect(shard.epoch).toBe(8);
    await shard.close();
  });

  test("an epoch file older than the shard's own files does not bring a stale owner in", async () => {
    using directory = temporaryDirectory();
    for (let i = 0; i < 3; i++) await (await open(directory.path)).close();
    await Bun.write(join(directory.path, "shards/0000/epoch"), JSON.stringify({ owner: "node-a", epoch: 1 }));
    expect(await rejectionCode(open(directory.path))).toBe("stale_epoch");
  });

  test("its phases follow one another in one order only", async () => {
    expect(nextPhase("open", "close")).toBe("closing");
    expect(nextPhase("closing", "stopped")).toBe("closed");
    for (const [phase, change] of [
      ["open", "stopped"],
      ["closing", "close"],
      ["closed", "close"],
      ["closed", "stopped"],
    ] as const) {
      expect(() => nextPhase(phase, change)).toThrow(`shard: ${change} while ${phase}`);
    }
  });
});
