import type { ShardId } from "../../base/ids.ts";
import type { Located, Placement } from "./placement.ts";

/** How long a caller waits before it asks again for a shard that is opening or closing, in milliseconds. */
const RETRY_AFTER_MS = 100;

/** What placement asks of a shard of this process. */
export interface LocalShard {
  readonly id: ShardId;
  readonly epoch: number;
  readonly phase: "open" | "closing" | "closed";
}

/** A cluster of one: every shard is here, or nowhere while it is not open. */
export class SingleNodePlacement implements Placement {
  readonly #shards: ReadonlyMap<ShardId, LocalShard>;

  constructor(shards: readonly LocalShard[]) {
    this.#shards = new Map(shards.map((shard) => [shard.id, shard]));
  }

  async locate(shard: ShardId): Promise<Located> {
    const local = this.#shards.get(shard);
    if (local?.phase !== "open") return { at: "nowhere", retryAfterMs: RETRY_AFTER_MS };
    return { at: "here", epoch: local.epoch };
  }
}
