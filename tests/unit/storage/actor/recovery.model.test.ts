// Random work on several actors, with crashes after which their files hold any mixture of what was written since they
// were last synced, against a model in memory.
import { expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import * as fc from "fast-check";
import { SeededRandom } from "../../../../base/random.ts";
import { actorPath } from "../../../../storage/actor/actor-key.ts";
import { temporaryDirectory } from "../../../support/temporary-directory.ts";
import { ActorRig, actor, failure, type OpenStore } from "./actor-rig.ts";

const PAGE = 4096;
const ACTORS = ["a", "b", "c"] as const;

interface Known {
  rows: Map<number, { readonly bytes: number; readonly mark: number }>;
  alarm: number | null;
  next: number;
}

const step = fc.record({
  who: fc.constantFrom(...ACTORS),
  what: fc.constantFrom(
    "insert",
    "many",
    "update",
    "delete",
    "fail",
    "attempt",
    "alarm",
    "index",
    "checkpoint",
    "evict",
    "lose",
    "settle",
  ),
  size: fc.integer({ min: 0, max: 9000 }),
});
const life = fc.record({
  steps: fc.array(step, { maxLength: 25 }),
  end: fc.constantFrom("kill", "power", "stop"),
});

class History {
  readonly #path: string;
  readonly #random: SeededRandom;
  readonly #known = new Map<string, Known>();
  readonly #open = new Map<string, OpenStore>();
  /** What a loss of power leaves of each file for certain. */
  readonly #synced = new Map<string, Buffer>();
  #rig!: ActorRig;
  #epoch = 0;

  constructor(path: string, seed: number) {
    this.#path = path;
    this.#random = new SeededRandom(seed);
    for (const id of ACTORS) this.#known.set(id, { rows: new Map(), alarm: null, next: 1 });
  }

  async begin(): Promise<void> {
    this.#rig = await ActorRig.open(this.#path, ++this.#epoch, { segmentBytes: 256 << 10 });
    for (const id of ACTORS) await this.#check(id);
  }

  async take({
    who,
    what,
    size,
  }: {
    readonly who: string;
    readonly what: string;
    readonly size: number;
  }): Promise<void> {
    const known = this.#known.get(who) as Known;
    const store = await this.#store(who);
    const { rows } = known;
    const id = known.next++;
    const insert = "INSERT INTO t VALUES (?1, zeroblob(?2), ?2)";
    switch (what) {
      case "insert":
        store.execute(insert, [id, size]);
        rows.set(id, { bytes: size, mark: size });
        break;
      case "many": {
        const ids = Array.from({ length: 20 }, (_, i) => id * 1000 + i);
        store.store.sql.transaction(ids.map((one) => ({ sql: insert, params: [one, size] })));
        for (const one of ids) rows.set(one, { bytes: size, mark: size });
        break;
      }
      case "update":
        store.execute("UPDATE t SET mark = ?1 WHERE id % 3 = ?2", [size, size % 3]);
        for (const [one, row] of rows) if (one % 3 === size % 3) rows.set(one, { ...row, mark: size });
        break;
      case "delete":
        store.execute("DELETE FROM t WHERE id % 2 = ?", [size % 2]);
        for (const one of rows.keys()) if (one % 2 === size % 2) rows.delete(one);
        break;
      case "fail":
        expect(failure(() => store.store.sql.transaction([{ sql: "DELETE FROM t" }, { sql: "SELECT 9e999" }]))).toBe(
          "numeric_out_of_range",
        );
        break;
      case "attempt":
        store.query("DELETE FROM t");
        break;
      case "alarm":
        store.store.host.setNextAlarm(size);
        known.alarm = size;
        break;
      case "index":
        store.execute(size % 2 === 0 ? "CREATE INDEX IF NOT EXISTS i ON t (mark)" : "DROP INDEX IF EXISTS i");
        break;
      case "checkpoint":
        expect(await store.store.checkpoint()).toBe(true);
        this.#remember(who);
        await this.#rig.actors.trim();
        break;
      case "evict":
        await this.#close(who);
        break;
      case "lose":
        await store.store.durable();
        await this.#lose(who);
        break;
      case "settle":
        await this.#close(who);
        await this.#rig.actors.settle(actor(who));
        this.#remember(who);
        await this.#rig.actors.trim();
        break;
    }
  }

  async end(how: "kill" | "power" | "stop"): Promise<void> {
    for (const [id, store] of this.#open) {
      if (how === "stop") await this.#close(id);
      else {
        await store.store.durable();
        await store.die();
      }
    }
    this.#open.clear();
    if (how === "stop") await this.#rig.close();
    if (how === "power") for (const id of ACTORS) this.#tear(id);
  }

  async #store(id: string): Promise<OpenStore> {
    let store = this.#open.get(id);
    if (store === undefined) {
      store = await this.#rig.store(actor(id));
      this.#open.set(id, store);
      store.execute("CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, body, mark)");
    }
    return store;
  }

  async #close(id: string): Promise<void> {
    expect(await this.#open.get(id)?.close()).toBe("clean");
    this.#open.delete(id);
    const database = new DatabaseSync(this.#file(id), { readOnly: true });
    expect(database.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
    database.close();
  }

  async #lose(id: string): Promise<void> {
    const store = this.#open.get(id);
    await store?.die();
    store?.opening.closed("lost");
    this.#open.delete(id);
  }

  async #check(id: string): Promise<void> {
    const { rows, alarm } = this.#known.get(id) as Known;
    const { store } = await this.#store(id);
    expect(store.host.nextAlarm()).toBe(alarm);
    const found = store.sql.query("SELECT id, length(body) AS bytes, mark FROM t ORDER BY id").rows;
    expect(found).toEqual([...rows].sort(([a], [b]) => a - b).map(([one, row]) => ({ id: one, ...row })));
    expect(store.sql.query("SELECT count(*) AS n FROM t WHERE mark >= 0").rows).toEqual([{ n: rows.size }]);
  }

  #file(id: string): string {
    const { directory, file } = actorPath(actor(id));
    return join(this.#path, "actors", directory, file);
  }

  #remember(id: string): void {
    this.#synced.set(id, readFileSync(this.#file(id)));
  }

  /** Each page as it is now, as it was when last synced, half of each, or nothing, where nothing was ever synced. */
  #tear(id: string): void {
    const path = this.#file(id);
    if (!existsSync(path)) return;
    const [now, before] = [readFileSync(path), this.#synced.get(id) ?? Buffer.alloc(0)];
    const image = Buffer.alloc(this.#random.below(2) === 0 ? now.length : Math.max(before.length, PAGE));
    before.copy(image);
    for (let at = 0; at < image.length; at += PAGE) {
      const chance = this.#random.below(8);
      if (chance < 4) now.copy(image, at, at, at + (chance === 0 ? PAGE / 2 : PAGE));
    }
    writeFileSync(path, image);
  }
}

test("AN-82, AN-105: whatever was durable is there after any number of crashes, whole", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer(), fc.array(life, { minLength: 2, maxLength: 4 }), async (seed, lives) => {
      using directory = temporaryDirectory();
      const history = new History(directory.path, seed);
      for (const { steps, end } of lives) {
        await history.begin();
        for (const one of steps) await history.take(one);
        await history.end(end);
      }
      await history.begin();
      await history.end("stop");
    }),
    { numRuns: 40, endOnFailure: true },
  );
}, 60_000);
