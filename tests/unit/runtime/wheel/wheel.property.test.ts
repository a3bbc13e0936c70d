import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { silentLogger } from "../../../../base/log.ts";
import { SeededRandom } from "../../../../base/random.ts";
import { SteppedClock } from "../../../../base/stepped-clock.ts";
import { Wheel } from "../../../../runtime/wheel/wheel.ts";
import { DUE_START, DueIndex } from "../../../../storage/shard/due-index.ts";

/** What a delivery does, chosen in advance by the command that set the entry. */
type Conduct = "resolve" | "fail once" | "move" | "cancel" | "move unawaited";

type Command =
  | { readonly type: "set"; readonly key: number; readonly delayMs: number; readonly conduct: Conduct }
  | { readonly type: "cancel"; readonly key: number }
  | { readonly type: "advance"; readonly ms: number }
  | { readonly type: "step"; readonly ms: number }
  | { readonly type: "restart" };

const HOUR_MS = 3_600_000;
const MOVE_MS = 7_000;

const key = fc.integer({ min: 0, max: 7 });
const delayMs = fc.oneof(
  fc.integer({ min: -5_000, max: 5_000 }),
  fc.integer({ min: 0, max: 200_000 }),
  fc.integer({ min: 0, max: 100 * 365 * 24 * HOUR_MS }),
);
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant("set" as const),
      key,
      delayMs,
      conduct: fc.constantFrom<Conduct>("resolve", "resolve", "fail once", "move", "cancel", "move unawaited"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("cancel" as const), key }) },
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constant("advance" as const), ms: fc.integer({ min: 0, max: 90_000 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant("step" as const),
      ms: fc.oneof(
        fc.integer({ min: -48 * HOUR_MS, max: 48 * HOUR_MS }),
        fc.integer({ min: -500, max: 500 }),
        fc.constant(200 * 365 * 24 * HOUR_MS),
      ),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ type: "restart" as const }) },
);

/** The naive model: a map, looked at from the outside. */
class Model {
  readonly entries = new Map<string, { dueAtMs: number; conduct: Conduct; failed: boolean }>();
  readonly faults: string[] = [];

  delivered(keyName: string, dueAtMs: number, nowMs: number): Conduct {
    const entry = this.entries.get(keyName);
    if (entry === undefined || entry.dueAtMs !== dueAtMs) {
      this.faults.push(`${keyName} was delivered for ${dueAtMs}, which is not what was set`);
      return "resolve";
    }
    if (nowMs < dueAtMs) this.faults.push(`${keyName} was delivered ${dueAtMs - nowMs} ms early`);
    if (entry.conduct === "fail once" && !entry.failed) {
      entry.failed = true;
      return "fail once";
    }
    if (entry.conduct === "move" || entry.conduct === "move unawaited") {
      this.entries.set(keyName, { dueAtMs: nowMs + MOVE_MS, conduct: "resolve", failed: false });
    } else {
      this.entries.delete(keyName);
    }
    return entry.conduct === "fail once" ? "resolve" : entry.conduct;
  }

  /** Everything that had its chance to fire and did not; a failed entry may still sit out its back-off. */
  overdue(nowMs: number): string[] {
    return [...this.entries].filter(([, entry]) => entry.dueAtMs <= nowMs && !entry.failed).map(([name]) => name);
  }
}

async function run(commands: readonly Command[]): Promise<void> {
  const clock = new SteppedClock();
  const index = DueIndex.open(":memory:", { owner: "node-a", epoch: 1 });
  const model = new Model();
  let wheel = start();

  function start(): Wheel {
    const fresh = new Wheel({ clock, random: new SeededRandom(7), logger: silentLogger, index });
    fresh.register("alarm", async ({ key: name, dueAtMs }) => {
      const nowMs = clock.nowMs();
      const conduct = model.delivered(name, dueAtMs, nowMs);
      if (conduct === "fail once") throw new Error("once");
      if (conduct === "move") await fresh.set("alarm", name, nowMs + MOVE_MS);
      if (conduct === "move unawaited") void fresh.set("alarm", name, nowMs + MOVE_MS);
      if (conduct === "cancel") await fresh.cancel("alarm", name);
    });
    return fresh;
  }

  for (const step of commands) {
    switch (step.type) {
      case "set": {
        const dueAtMs = Math.max(0, clock.nowMs() + step.delayMs);
        const name = `key-${step.key}`;
        // The model changes before the write: the entry may fire as soon as it is durable.
        model.entries.set(name, { dueAtMs, conduct: step.conduct, failed: false });
        await wheel.set("alarm", name, dueAtMs);
        break;
      }
      case "cancel":
        model.entries.delete(`key-${step.key}`);
        await wheel.cancel("alarm", `key-${step.key}`);
        break;
      case "advance":
        await clock.advance(step.ms);
        break;
      case "step":
        clock.stepWall(Math.max(step.ms, -clock.nowMs()));
        break;
      case "restart":
        await wheel.close();
        wheel = start();
        break;
    }
    // The wall clock is looked at once a second, so after a second nothing may be overdue.
    await clock.advance(1_001);
    expect(model.faults).toEqual([]);
    expect(model.overdue(clock.nowMs())).toEqual([]);
    const stored = index.page("alarm", DUE_START, Number.MAX_SAFE_INTEGER, 100);
    const expected = new Map([...model.entries].map(([name, { dueAtMs }]) => [name, dueAtMs]));
    expect(new Map(stored.map((entry) => [entry.key, entry.dueAtMs]))).toEqual(expected);
  }
  // A back-off is at most two seconds after one failure.
  await clock.advance(3_000);
  expect([...model.entries.values()].filter((entry) => entry.failed)).toEqual([]);
  await wheel.close();
  index.close();
}

test("H1, H2, H4, L1, L2, L3: agrees with a naive model under steps of the wall clock, moves, failures and restarts", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 25 }), (commands) => run(commands)),
    { numRuns: 60 },
  );
}, 60_000);
