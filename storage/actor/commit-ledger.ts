// Which records of the log are still needed, actor by actor: those since the last time its file was synced.
//
// It is filled by reading the log back at the start and kept up to date while the shard runs, so that a start after a
// crash and the loss of a cell are one and the same thing: some actors have records that their files may lack.
import type { LogPlace } from "../shard-log/log-scan.ts";

export interface LedgerRecord {
  readonly sequence: number;
  readonly place: LogPlace;
  readonly born: boolean;
}

export interface LedgerEntry {
  /** In order; never empty. */
  readonly records: readonly LedgerRecord[];
  readonly bytes: number;
}

interface Entry {
  records: LedgerRecord[];
  bytes: number;
}

export class CommitLedger {
  /** In the order of the first record: a Map keeps it, for an entry is made by its first record. */
  readonly #entries = new Map<string, Entry>();

  add(key: string, record: LedgerRecord): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) {
      this.#entries.set(key, { records: [record], bytes: record.place.bytes });
      return;
    }
    entry.records.push(record);
    entry.bytes += record.place.bytes;
  }

  get(key: string): LedgerEntry | null {
    return this.#entries.get(key) ?? null;
  }

  /** The actor's file has everything up to `sequence`, synced. */
  settled(key: string, sequence: number): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    const kept = entry.records.filter((record) => record.sequence > sequence);
    // Deleted first, so that what is left stands in the order of its first record again.
    this.#entries.delete(key);
    if (kept.length === 0) return;
    const bytes = kept.reduce((sum, { place }) => sum + place.bytes, 0);
    this.#entries.set(key, { records: kept, bytes });
  }

  /** Forget all records whose key starts so. */
  forget(prefix: string): void {
    for (const key of this.#entries.keys()) if (key.startsWith(prefix)) this.#entries.delete(key);
  }

  /** The oldest record that is needed; null when none is. */
  oldestSequence(): number | null {
    let oldest: number | null = null;
    for (const { records } of this.#entries.values()) {
      const first = records[0]?.sequence ?? Number.POSITIVE_INFINITY;
      if (oldest === null || first < oldest) oldest = first;
    }
    return oldest;
  }

  /**
   * Whose file should be synced now: actors with more than `actorBytesMax` in the log; and, while the log holds more
   * than `logBytesMax`, those with records up to `horizon`, which keep its oldest part from going.
   */
  due(limits: { readonly actorBytesMax: number; readonly horizon: number }): string[] {
    const keys: string[] = [];
    for (const [key, { records, bytes }] of this.#entries) {
      const first = records[0]?.sequence ?? Number.POSITIVE_INFINITY;
      if (bytes > limits.actorBytesMax || first <= limits.horizon) keys.push(key);
    }
    return keys;
  }
}
