// Retention: Operations, keys, transfer values and tombstones go when their time is over, and not before.
import type { Cancel, Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import type { ControlStore } from "../../storage/control/control-store.ts";

/** Rows forgotten in one transaction, so that a sweep never holds up the node for long. */
const BATCH = 200;
const NEXT_BATCH_MS = 20;

export class Retention {
  readonly #parts: RetentionParts;
  #cancel: Cancel = () => {};

  constructor(parts: RetentionParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#again(this.#parts.intervalMs);
  }

  stop(): void {
    this.#cancel();
  }

  /** One sweep. Returns whether more is waiting to be forgotten. */
  sweep(): boolean {
    const { store, clock, windowMs } = this.#parts;
    const nowMs = clock.nowMs();
    return store.write(() => {
      store.privateInputs.dropExpiredTransfers(nowMs);
      // HA-A19: what is unfinished stays, and never promises an instant that has passed.
      for (const row of store.operations.overdueUnfinished(nowMs)) {
        store.operations.put({ ...row, retainUntilMs: nowMs + Math.max(windowMs, row.windowMs) });
      }
      const pruned = store.operations.prune(nowMs, BATCH);
      store.resources.pruneTombstones(nowMs - windowMs);
      return pruned === BATCH;
    });
  }

  #again(delayMs: number): void {
    this.#cancel = this.#parts.clock.after(delayMs, () => {
      let more = false;
      try {
        more = this.sweep();
      } catch (error) {
        this.#parts.log.error("a retention sweep failed", { error });
      }
      this.#again(more ? NEXT_BATCH_MS : this.#parts.intervalMs);
    });
  }
}

interface RetentionParts {
  readonly store: ControlStore;
  readonly clock: Clock;
  readonly log: Logger;
  readonly windowMs: number;
  readonly intervalMs: number;
}
