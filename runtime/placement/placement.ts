// Placement: key → shard → where that shard is served at this moment.
import { createHash } from "node:crypto";
import type { NodeId, ShardId } from "../../base/ids.ts";
import { invariant } from "../../base/invariant.ts";

/** `epoch` rises with every change of owner; a message to an owner carries it, and an older one is refused. */
export type Located =
  | { readonly at: "here"; readonly epoch: number }
  | { readonly at: "there"; readonly epoch: number; readonly node: NodeId }
  | { readonly at: "nowhere"; readonly retryAfterMs: number }; // between two owners

export interface Placement {
  locate(shard: ShardId): Promise<Located>;
}

/** Four hex digits name a shard, in ids and on disk. */
export const SHARDS_MAX = 65_536;

export function shardId(index: number): ShardId {
  invariant(Number.isInteger(index) && index >= 0 && index < SHARDS_MAX, "a shard index is in 0..65535");
  return index.toString(16).padStart(4, "0") as ShardId;
}

/**
 * Divides keys among `count` shards. A key is hashed to 64 bits (the first eight bytes of SHA-256 over its UTF-8), and
 * a shard is a contiguous range of hashes, all ranges of equal length, so a shard can be split without touching others.
 * Stable for ever: the same key and count give the same shard on every machine and in every release.
 */
export class KeySpace {
  readonly count: number;

  constructor(count: number) {
    invariant(Number.isInteger(count) && count >= 1 && count <= SHARDS_MAX, "the number of shards is in 1..65536");
    this.count = count;
  }

  /** The shard of a key such as `<namespace UID>/<actor id>`. */
  shardOf(key: string): ShardId {
    if (this.count === 1) return shardId(0);
    const hash = createHash("sha256").update(key, "utf8").digest();
    return shardId(this.#indexOf(hash.readUInt32BE(0), hash.readUInt32BE(4)));
  }

  /** ⌊hash · count / 2^64⌋, in parts that stay exact in a double. */
  #indexOf(high: number, low: number): number {
    const carry = Math.floor((low * this.count) / 2 ** 32);
    return Math.floor((high * this.count + carry) / 2 ** 32);
  }
}
