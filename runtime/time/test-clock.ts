// The clock of a node under test: time stands still until somebody moves it.
//
//   T1. Moving it fires everything that falls due on the way, each at its own time, in order.
//   T2. What was fired has ended before time goes on, as far as it ends by itself: a handler that sets the next due
//       time counts from its own, not from the end of the move.
//   T3. Time never goes back: where it moves to is durable before it moves.
import type { Cancel, Clock } from "../../base/clock.ts";
import { AtollError } from "../../base/errors.ts";
import type { Logger } from "../../base/log.ts";
import { SteppedClock } from "../../base/stepped-clock.ts";
import type { TestClockFile } from "../../storage/time/test-clock-file.ts";

/** One move, in milliseconds. A longer one is made of several. */
export const ADVANCE_MS_MAX = 366 * 24 * 60 * 60_000;
/** Real time that a move waits for work that does not end, in milliseconds; after the first time it waits less. */
const PATIENCE_MS = 5_000;
const PATIENCE_MS_SPENT = 50;
const LOOK_MS = 1;
/** Most work ends within so many turns of the event loop, sooner than the shortest platform timer. */
const TURNS = 16;

export interface TestClockParts {
  readonly file: TestClockFile;
  /** Real time: where the clock begins, and what patience is measured with. */
  readonly system: Clock;
  readonly log: Logger;
}

export class TestClock implements Clock {
  readonly #parts: TestClockParts;
  readonly #stepped: SteppedClock;
  #busy: () => boolean = () => false;
  #moves: Promise<void> = Promise.resolve();

  private constructor(parts: TestClockParts, startMs: number) {
    this.#parts = parts;
    this.#stepped = new SteppedClock(startMs);
  }

  /** Begins where the last run of the node had moved it to, else at the real time. */
  static async open(parts: TestClockParts): Promise<TestClock> {
    return new TestClock(parts, (await parts.file.load()) ?? Math.floor(parts.system.nowMs()));
  }

  /** `busy` says whether work that was due is still under way (T2). */
  watch(busy: () => boolean): void {
    this.#busy = busy;
  }

  nowMs(): number {
    return this.#stepped.nowMs();
  }

  monotonicMs(): number {
    return this.#stepped.monotonicMs();
  }

  after(delayMs: number, fire: () => void): Cancel {
    if (delayMs > 0) return this.#stepped.after(delayMs, fire);
    // Due already: that needs no move.
    const immediate = setImmediate(fire);
    return () => clearImmediate(immediate);
  }

  /**
   * Move by `ms`; moves wait for each other. Resolves to the new time in Unix milliseconds when everything due by then
   * has run. Rejects with `invalid_request` when the move is no whole number from 0 to ADVANCE_MS_MAX.
   */
  async advance(ms: number): Promise<number> {
    if (!Number.isSafeInteger(ms) || ms < 0 || ms > ADVANCE_MS_MAX) {
      throw new AtollError(
        "invalid_request",
        "a clock moves forward by a whole number of milliseconds, 366 days at most",
      );
    }
    const move = this.#moves.then(() => this.#move(ms));
    this.#moves = move.then(
      () => {},
      () => {},
    );
    return await move;
  }

  async #move(ms: number): Promise<number> {
    const stepped = this.#stepped;
    const untilMs = stepped.monotonicMs() + ms;
    await this.#parts.file.keep(stepped.nowMs() + ms);
    let patienceMs = PATIENCE_MS;
    const settle = async (): Promise<void> => {
      if (await this.#settled(patienceMs)) return;
      if (patienceMs === PATIENCE_MS) this.#parts.log.warn("the test clock moves on while due work is still under way");
      patienceMs = PATIENCE_MS_SPENT;
    };
    await settle();
    for (let next = stepped.nextMs; next <= untilMs; next = stepped.nextMs) {
      await stepped.advance(Math.max(0, next - stepped.monotonicMs()));
      await settle();
    }
    await stepped.advance(untilMs - stepped.monotonicMs());
    await settle();
    return stepped.nowMs();
  }

  /** False when the work that was due has not ended within `patienceMs` of real time. */
  async #settled(patienceMs: number): Promise<boolean> {
    const { system } = this.#parts;
    const untilMs = system.monotonicMs() + patienceMs;
    await turn();
    for (let turns = 1; this.#busy(); turns++) {
      if (system.monotonicMs() > untilMs) return false;
      if (turns < TURNS) await turn();
      else await new Promise<void>((resolve) => void system.after(LOOK_MS, resolve));
    }
    return true;
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
