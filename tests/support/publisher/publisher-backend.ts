// The backend of the two fictional Forms: entries under keys, and snapshots in two parts. Optionally kept in a
// directory, so that it outlives a killed Host. Tests make it lose answers, refuse, break off or stand still.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface Entry {
  readonly owner: string;
  readonly value: string;
}

export interface Snapshot {
  readonly owner: string;
  readonly generation: number;
  readonly body: string;
  /** Null while the snapshot is incomplete. */
  readonly seal: string | null;
}

/** What the next calls do instead of working. */
export type Mishap =
  | "lost-before" // the call never arrives, and the caller cannot tell
  | "lost-after" // the call works, and its answer is lost
  | "unreachable" // refused before anything was sent, and the caller knows
  | "torn"; // a snapshot stays without its seal, and the writer is fenced

export class LostAnswer extends Error {}
export class Unreachable extends Error {}

export class PublisherBackend {
  /** Every call that arrived, in order: `put k`, `remove k`, `snapshot s`, … */
  readonly calls: string[] = [];
  readonly #directory: string | null;
  readonly #entries = new Map<string, Entry>();
  readonly #snapshots = new Map<string, Snapshot>();
  readonly #mishaps: Mishap[] = [];
  #standstill: PromiseWithResolvers<void> | null = null;

  constructor(directory: string | null = null) {
    this.#directory = directory;
    if (directory === null) return;
    mkdirSync(directory, { recursive: true });
    if (!existsSync(this.#file)) return;
    const kept = JSON.parse(readFileSync(this.#file, "utf8"));
    this.#entries = new Map(kept.entries);
    this.#snapshots = new Map(kept.snapshots);
    this.calls.push(...kept.calls);
  }

  /** The next calls meet these, one each. */
  plan(...mishaps: readonly Mishap[]): void {
    this.#mishaps.push(...mishaps);
  }

  /** Calls that write wait until the returned function is called. */
  standStill(): () => void {
    this.#standstill = Promise.withResolvers<void>();
    return () => {
      this.#standstill?.resolve();
      this.#standstill = null;
    };
  }

  entry(key: string): Entry | null {
    return this.#entries.get(key) ?? null;
  }

  /** Something outside the Host changes the backend. */
  meddle(key: string, entry: Entry | null): void {
    if (entry === null) this.#entries.delete(key);
    else this.#entries.set(key, entry);
    this.#keep();
  }

  snapshotsOf(owner: string): readonly Snapshot[] {
    return [...this.#snapshots.values()].filter((snapshot) => snapshot.owner === owner);
  }

  /** Idempotent on the owner. */
  async put(
    key: string,
    value: string,
    owner: string,
    more: { readonly create: boolean },
  ): Promise<"ok" | "taken" | "missing"> {
    return this.#call(`put ${key}`, () => {
      const existing = this.#entries.get(key);
      if (existing !== undefined && existing.owner !== owner) return "taken";
      if (existing === undefined && !more.create) return "missing";
      this.#entries.set(key, { owner, value });
      return "ok";
    });
  }

  async remove(key: string, owner: string): Promise<void> {
    await this.#call(`remove ${key}`, () => {
      if (this.#entries.get(key)?.owner === owner) this.#entries.delete(key);
    });
  }

  /** Idempotent on the identity `owner/generation`. */
  async writeSnapshot(snapshot: Snapshot): Promise<"complete" | "torn"> {
    const id = `${snapshot.owner}/${snapshot.generation}`;
    const torn = this.#mishaps[0] === "torn";
    if (torn) this.#mishaps.shift();
    return this.#call(`snapshot ${snapshot.generation}`, () => {
      this.#snapshots.set(id, torn ? { ...snapshot, seal: null } : snapshot);
      return torn ? "torn" : "complete";
    });
  }

  async removeSnapshots(owner: string): Promise<void> {
    await this.#call("remove-snapshots", () => {
      for (const [id, snapshot] of this.#snapshots) if (snapshot.owner === owner) this.#snapshots.delete(id);
    });
  }

  async #call<T>(name: string, work: () => T): Promise<T> {
    await this.#standstill?.promise;
    const mishap = this.#mishaps.shift();
    if (mishap === "unreachable") throw new Unreachable();
    if (mishap === "lost-before") throw new LostAnswer();
    this.calls.push(name);
    const result = work();
    this.#keep();
    if (mishap === "lost-after") throw new LostAnswer();
    return result;
  }

  get #file(): string {
    return join(this.#directory ?? "", "publisher.json");
  }

  #keep(): void {
    if (this.#directory === null) return;
    const kept = { entries: [...this.#entries], snapshots: [...this.#snapshots], calls: this.calls };
    writeFileSync(this.#file, JSON.stringify(kept));
  }
}
