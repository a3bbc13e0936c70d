import { join } from "node:path";
import { SeededRandom } from "../../../../base/random.ts";
import { ActorFiles } from "../../../../storage/actor/actor-files.ts";
import type { CommitSink } from "../../../../storage/actor/commit-sink.ts";
import { ActorStore } from "../../../../storage/actor/actor-store.ts";
import { type Opening, ActorReplay, ShardActors } from "../../../../storage/actor/shard-actors.ts";
import { PlatformLogDisk } from "../../../../storage/shard-log/platform-log-disk.ts";
import { ShardLog, type ShardLogOptions } from "../../../../storage/shard-log/shard-log.ts";

export const actor = (id: string, namespace = "ns-1") => ({ namespace, id });

/** One owner of a shard's actors in a directory, without a node around it. */
export class ActorRig {
  readonly log: ShardLog;
  readonly actors: ShardActors;
  readonly #random: SeededRandom;

  private constructor(log: ShardLog, actors: ShardActors, random: SeededRandom) {
    this.log = log;
    this.actors = actors;
    this.#random = random;
  }

  static async open(directory: string, epoch: number, more: Partial<ShardLogOptions> = {}): Promise<ActorRig> {
    const random = new SeededRandom(epoch);
    const replay = new ActorReplay();
    const disk = await PlatformLogDisk.open(join(directory, "log"));
    const log = await ShardLog.open(
      { disk, epoch, assertCurrent: () => {}, durability: "strict", random, aheadBytes: 1 << 16, ...more },
      replay.visit,
    );
    return new ActorRig(log, new ShardActors(log, await ActorFiles.open(directory, epoch), replay), random);
  }

  async store(key: { namespace: string; id: string }, quotaBytes = 64 << 20): Promise<OpenStore> {
    const opening = await this.actors.open(key);
    const life = { ended: false };
    const gone = <T>(work: () => Promise<T>): Promise<T> => (life.ended ? Promise.reject(new Error("gone")) : work());
    const sink: CommitSink = {
      committed: (payload) => gone(() => opening.sink.committed(payload)),
      synced: () => gone(() => opening.sink.synced()),
      checkpointed: () => opening.sink.checkpointed(),
    };
    const store = ActorStore.open({ path: opening.path, sink, random: this.#random, quotaBytes });
    return new OpenStore(opening, store, life);
  }

  /** Close everything as a node that stops. */
  async close(): Promise<void> {
    await this.log.close();
  }
}

export class OpenStore {
  readonly store: ActorStore;
  readonly opening: Opening;

  readonly #life: { ended: boolean };

  constructor(opening: Opening, store: ActorStore, life: { ended: boolean }) {
    this.opening = opening;
    this.store = store;
    this.#life = life;
  }

  /** The way to the log is gone from now on: what is committed stays here. */
  cutOff(): void {
    this.#life.ended = true;
  }

  /** End as a process or a thread that is killed does: nothing is handed over and nothing is moved any more. */
  async die(): Promise<void> {
    this.cutOff();
    await this.store.close();
  }

  execute(sql: string, params?: unknown) {
    return this.store.sql.execute(sql, params);
  }

  query(sql: string, params?: unknown) {
    return this.store.sql.query(sql, params);
  }

  async close(): Promise<"clean" | "lost"> {
    const how = await this.store.close();
    this.opening.closed(how);
    return how;
  }
}

/** The name of the error that `act` throws. */
export function failure(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof Error) return error.name;
  }
  return "nothing";
}

export function times<T>(count: number, value: T): T[] {
  return Array.from({ length: count }, () => value);
}
