import { expect, test } from "bun:test";
import { join } from "node:path";
import { silentLogger } from "../../../../base/log.ts";
import { SeededRandom } from "../../../../base/random.ts";
import { SteppedClock } from "../../../../base/stepped-clock.ts";
import { MEMORY_MAX } from "../../../../runtime/wheel/lane.ts";
import { Wheel } from "../../../../runtime/wheel/wheel.ts";
import { type DueChange, DueIndex } from "../../../../storage/shard/due-index.ts";
import { temporaryDirectory } from "../../../support/temporary-directory.ts";

const TOTAL = 1_000_000;
const DUE_NOW = 5_000;
const DAY_MS = 86_400_000;

function* farTimers(count: number, nowMs: number): Generator<DueChange> {
  for (let i = 0; i < count; i++) {
    yield { type: "set", kind: "alarm", key: `far-${String(i).padStart(7, "0")}`, dueAtMs: nowMs + DAY_MS + i * 5_000 };
  }
}

test("L4: a million timers lie on disk while memory holds a handful, and start-up reads only what is near", async () => {
  using directory = temporaryDirectory();
  const clock = new SteppedClock();
  const index = DueIndex.open(join(directory.path, "index.sqlite"), { owner: "node-a", epoch: 1 });
  index.apply(farTimers(TOTAL - DUE_NOW, clock.nowMs()));

  let rowsRead = 0;
  const page = index.page.bind(index);
  index.page = (...args) => {
    const entries = page(...args);
    rowsRead += entries.length;
    return entries;
  };
  const wheel = new Wheel({ clock, random: new SeededRandom(1), logger: silentLogger, index });
  let fired = 0;
  let memoryMax = 0;
  wheel.register("alarm", () => {
    fired++;
    memoryMax = Math.max(memoryMax, wheel.entriesInMemory);
  });
  expect(rowsRead).toBe(0);
  expect(wheel.entriesInMemory).toBe(0);

  const dueAtMs = clock.nowMs() + 30_000;
  const sets = Array.from({ length: DUE_NOW }, (_, i) => wheel.set("alarm", `near-${i}`, dueAtMs));
  await clock.advance(0);
  await Promise.all(sets);
  await clock.advance(30_000);
  expect(fired).toBe(DUE_NOW);

  // A day and an hour later the first of the others have come in, page by page.
  clock.stepWall(DAY_MS + 3_600_000);
  await clock.advance(1_000);
  expect(fired).toBe(DUE_NOW + 3_600_000 / 5_000 + Math.floor(31_000 / 5_000) + 1);
  expect(memoryMax).toBeLessThanOrEqual(MEMORY_MAX);
  await wheel.close();
  index.close();
}, 60_000);
