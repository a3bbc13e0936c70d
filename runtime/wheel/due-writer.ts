// Group commit for the due index: changes that come close together share one transaction, hence one fsync.
//
//   W1. A promise resolves only when its change, or a later change of the same entry, is durable.
//   W2. Changes of one entry take effect in the order in which they were written.
//   W3. A transaction has at most BATCH_CHANGES_MAX changes, so that a flood of them does not hold the event loop.
import type { DueChange } from "../../storage/shard/due-index.ts";

const BATCH_CHANGES_MAX = 4_096;

interface Batch {
  readonly changes: Map<string, DueChange>;
  readonly durable: PromiseWithResolvers<void>;
}

export interface DueWriterEvents {
  /** Make the changes durable, all or none; throws when it cannot. */
  apply(changes: Iterable<DueChange>): void;
  /** The changes are durable now. Called before anybody who waits for them runs. */
  committed(changes: Iterable<DueChange>): void;
  /** None of the batch's changes happened. */
  failed(error: unknown): void;
}

export class DueWriter {
  readonly #events: DueWriterEvents;
  readonly #batches: Batch[] = [];
  #scheduled = false;

  constructor(events: DueWriterEvents) {
    this.#events = events;
  }

  /** Durable when the promise resolves (W1); rejects with the reason when the transaction failed. */
  write(change: DueChange): Promise<void> {
    let batch = this.#batches.at(-1);
    if (batch === undefined || batch.changes.size >= BATCH_CHANGES_MAX) {
      batch = { changes: new Map(), durable: Promise.withResolvers() };
      // Every failure is reported through `failed`; a caller that waits for nothing must not bring the process down.
      batch.durable.promise.catch(() => {});
      this.#batches.push(batch);
    }
    batch.changes.set(idOf(change.kind, change.key), change); // the newest change of an entry is the one that counts (W2)
    this.#schedule();
    return batch.durable.promise;
  }

  /** Whether a change of this entry is waiting to become durable. */
  has(kind: string, key: string): boolean {
    const id = idOf(kind, key);
    return this.#batches.some((batch) => batch.changes.has(id));
  }

  /** Write everything that waits, now. */
  flush(): void {
    while (this.#batches.length > 0) this.#writeOne();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    // One turn of the event loop gathers what all its callbacks had to write.
    setImmediate(() => {
      this.#scheduled = false;
      this.#writeOne();
      if (this.#batches.length > 0) this.#schedule();
    });
  }

  #writeOne(): void {
    const batch = this.#batches.shift();
    if (batch === undefined) return;
    try {
      this.#events.apply(batch.changes.values());
    } catch (error) {
      batch.durable.reject(error);
      this.#events.failed(error);
      return;
    }
    this.#events.committed(batch.changes.values());
    batch.durable.resolve();
  }
}

// U+0000 cannot stand in a kind, so no two entries share an id.
function idOf(kind: string, key: string): string {
  return `${kind}\u0000${key}`;
}
