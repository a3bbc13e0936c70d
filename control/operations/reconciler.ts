// The reconciler drives every unfinished Operation to its end: after acceptance, after a delay, after a restart.
//
//   R1. Progress needs no caller: reading never starts or retries anything (HA-81, HA-98).
//   R2. One job a Resource at a time, and a bounded number in all (`Lanes`).
//   R3. Start and recovery are one path: every unfinished Operation is taken up where the store says it is.
import type { Cancel, Clock } from "../../base/clock.ts";
import type { OperationId, ResourceUid } from "../../base/ids.ts";
import type { Logger } from "../../base/log.ts";
import type { Random } from "../../base/random.ts";
import type { ControlStore } from "../../storage/control/control-store.ts";
import type { OperationRow } from "../../storage/control/records.ts";
import type { Attempts } from "./attempt.ts";
import type { Lanes } from "./lanes.ts";

const RETRY_MS_MIN = 10;
const RETRY_MS_MAX = 60 * 60_000;
const BACK_OFF_MS_FIRST = 200;
const BACK_OFF_MS_MAX = 60_000;

interface Delayed {
  readonly operationId: OperationId;
  readonly cancel: Cancel;
}

export class Reconciler {
  readonly #parts: ReconcilerParts;
  /** Operations waiting for their next attempt, by Resource: each has one unfinished Operation at most (HA-87). */
  readonly #delayed = new Map<ResourceUid, Delayed>();
  /** Attempts without an outcome in a row. */
  readonly #failures = new Map<OperationId, number>();
  #stopped = false;

  constructor(parts: ReconcilerParts) {
    this.#parts = parts;
  }

  /** Take up everything that has not settled (R3). */
  start(): void {
    const { store, attempts } = this.#parts;
    for (const row of store.operations.unfinished()) this.enqueue(attempts.recover(row));
  }

  /** Attempt the Operation as soon as its Resource is free. */
  enqueue(row: OperationRow): void {
    this.#parts.lanes.add(row.resourceUid, () => this.#attempt(row.id, row.resourceUid));
  }

  /** A neighbour of this Resource settled: an Operation that waits may find what it waits for. */
  nudge(uid: ResourceUid): void {
    const delayed = this.#delayed.get(uid);
    if (delayed === undefined) return;
    delayed.cancel();
    this.#due(uid, delayed.operationId);
  }

  /** Start no further attempts. */
  stop(): void {
    this.#stopped = true;
    for (const { cancel } of this.#delayed.values()) cancel();
    this.#delayed.clear();
  }

  async #attempt(id: OperationId, uid: ResourceUid): Promise<void> {
    try {
      const result = await this.#parts.attempts.run(id);
      if (result.type === "rest") this.#failures.delete(id);
      else
        this.#delay(id, uid, result.afterMs === "back-off" ? this.#backOffMs(id) : this.#bounded(id, result.afterMs));
    } catch (error) {
      // Writing down failed, e.g. on a full disk. The store tells where to go on.
      this.#parts.log.error("an attempt at an Operation could not be recorded", { operationId: id, error });
      this.#delay(id, uid, this.#backOffMs(id));
    }
  }

  #delay(operationId: OperationId, uid: ResourceUid, delayMs: number): void {
    if (this.#stopped) return;
    const cancel = this.#parts.clock.after(delayMs, () => this.#due(uid, operationId));
    this.#delayed.set(uid, { operationId, cancel });
  }

  #due(uid: ResourceUid, operationId: OperationId): void {
    this.#delayed.delete(uid);
    this.#parts.lanes.add(uid, () => this.#attempt(operationId, uid));
  }

  #bounded(id: OperationId, afterMs: number): number {
    this.#failures.delete(id);
    return Math.min(Math.max(afterMs, RETRY_MS_MIN), RETRY_MS_MAX);
  }

  /** Doubles up to a bound, with a random part so that what failed together does not return together. */
  #backOffMs(id: OperationId): number {
    const failures = this.#failures.get(id) ?? 0;
    this.#failures.set(id, failures + 1);
    const base = Math.min(BACK_OFF_MS_FIRST * 2 ** Math.min(failures, 20), BACK_OFF_MS_MAX);
    return base / 2 + this.#parts.random.below(Math.ceil(base / 2) + 1);
  }
}

interface ReconcilerParts {
  readonly store: ControlStore;
  readonly attempts: Attempts;
  readonly lanes: Lanes;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}
