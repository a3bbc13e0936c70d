// The stores that a cell holds open: the ones in use, and the ones used last.
//
//     (none) ──take──▶ opening ──▶ used ──give──▶ idle ──take──▶ used
//                                                   │
//                                                   └──evict──▶ closing ──▶ (none)
//
//   C1. A store is opened only after its former opening has closed completely.
//   C2. At most `idleMax` stores are open without being used; the one unused for longest goes first.
import { invariant } from "../../base/invariant.ts";

export interface Closable {
  /** Never rejects. */
  close(): Promise<unknown>;
}

type Slot<Store> =
  | { readonly phase: "opening" | "closing"; readonly done: Promise<void> }
  | { readonly phase: "used" | "idle"; readonly store: Store };

export class StoreCache<Store extends Closable> {
  readonly #open: (key: string) => Promise<Store>;
  readonly #idleMax: number;
  /** Idle ones stand in the order in which they became so. */
  readonly #slots = new Map<string, Slot<Store>>();
  #idle = 0;

  constructor(open: (key: string) => Promise<Store>, limits: { readonly idleMax: number }) {
    this.#open = open;
    this.#idleMax = limits.idleMax;
  }

  /** Stores that are open, opening or closing. */
  get size(): number {
    return this.#slots.size;
  }

  /** The open store of `key`, opened if need be, for one user at a time. Rejects with what opening it said. */
  async take(key: string): Promise<Store> {
    for (;;) {
      const slot = this.#slots.get(key);
      if (slot === undefined) return await this.#fill(key);
      invariant(slot.phase !== "used", "a store has one user at a time");
      if ("store" in slot) {
        this.#idle--;
        this.#slots.set(key, { phase: "used", store: slot.store });
        return slot.store;
      }
      await slot.done;
    }
  }

  /** The user of `key` is done; "discard" when its store must not be used again. */
  give(key: string, next: "keep" | "discard" = "keep"): void {
    const slot = this.#slots.get(key);
    invariant(slot?.phase === "used", "only a store in use is given back");
    // To the end of the order.
    this.#slots.delete(key);
    this.#slots.set(key, { phase: "idle", store: slot.store });
    this.#idle++;
    if (next === "discard") void this.evict(key);
    if (this.#idle > this.#idleMax) this.#evictOldest();
  }

  /** Close the store of `key` if it is idle; resolves when it is closed. */
  async evict(key: string): Promise<void> {
    const slot = this.#slots.get(key);
    if (slot?.phase !== "idle") return;
    this.#idle--;
    const done = slot.store.close().then(() => {
      this.#slots.delete(key);
    });
    this.#slots.set(key, { phase: "closing", done });
    await done;
  }

  /** Close every idle store. */
  async evictAll(): Promise<void> {
    await Promise.all([...this.#slots.keys()].map((key) => this.evict(key)));
  }

  async #fill(key: string): Promise<Store> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#slots.set(key, { phase: "opening", done: promise });
    try {
      const store = await this.#open(key);
      this.#slots.set(key, { phase: "used", store });
      return store;
    } catch (error) {
      this.#slots.delete(key);
      throw error;
    } finally {
      resolve();
    }
  }

  #evictOldest(): void {
    for (const [key, slot] of this.#slots) {
      if (slot.phase !== "idle") continue;
      void this.evict(key);
      return;
    }
  }
}
