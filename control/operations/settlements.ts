import type { Clock } from "../../base/clock.ts";
import type { OperationId } from "../../base/ids.ts";

/** Lets a caller wait a moment for an Operation to settle, so that quick changes need no polling. */
export class Settlements {
  readonly #clock: Clock;
  readonly #waiting = new Map<OperationId, Set<() => void>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves when the Operation has settled or after `waitMs`, whichever is first. Tells nothing about the outcome. */
  wait(id: OperationId, waitMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiters = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, waiters);
    waiters.add(resolve);
    const cancel = this.#clock.after(waitMs, resolve);
    return promise.finally(() => {
      cancel();
      waiters.delete(resolve);
      if (waiters.size === 0 && this.#waiting.get(id) === waiters) this.#waiting.delete(id);
    });
  }

  settled(id: OperationId): void {
    for (const resolve of this.#waiting.get(id) ?? []) resolve();
  }
}
