// The durable fence of one shard: who owns it, and since which change of owner.
//
//   E1. A claim makes an epoch durable before its owner may write anything, and no epoch is ever claimed twice.
//   E2. A write of a stale owner fails with `stale_epoch`; it is never merged, queued or tried again here.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { AtollError } from "../../base/errors.ts";
import { isJsonObject } from "../../base/json.ts";
import { readIfExists, writeDurable } from "../disk/durable-file.ts";

/** The right to write: valid as long as no later epoch of the same shard has been claimed. */
export interface Fence {
  /** The node that owns the shard. */
  readonly owner: string;
  /** 1 at the first opening; grows by one at every opening and every change of owner. */
  readonly epoch: number;
}

export class EpochFile {
  readonly fence: Fence;
  readonly #path: string;

  private constructor(path: string, fence: Fence) {
    this.#path = path;
    this.fence = fence;
  }

  /** Claim the next epoch for `owner`, durably (E1). The caller holds the DirectoryLock of `directory`. */
  static async claim(directory: string, owner: string): Promise<EpochFile> {
    const path = join(directory, "epoch");
    const bytes = await readIfExists(path);
    const last = bytes === null ? 0 : parse(new TextDecoder().decode(bytes)).epoch;
    const fence: Fence = Object.freeze({ owner, epoch: last + 1 });
    await writeDurable(path, `${JSON.stringify(fence)}\n`, 0o600);
    return new EpochFile(path, fence);
  }

  /** Throws `stale_epoch` when a later owner has claimed the shard (E2). */
  assertCurrent(): void {
    const current = parse(readFileSync(this.#path, "utf8"));
    if (current.epoch !== this.fence.epoch || current.owner !== this.fence.owner) {
      throw staleEpoch(this.fence.epoch, current.epoch);
    }
  }
}

export function staleEpoch(own: number, current: number): AtollError {
  return new AtollError("stale_epoch", `this owner holds epoch ${own}, but the shard is at epoch ${current}`);
}

function parse(text: string): Fence {
  try {
    const value: unknown = JSON.parse(text);
    if (isJsonObject(value)) {
      const { owner, epoch } = value;
      if (typeof owner === "string" && typeof epoch === "number" && Number.isSafeInteger(epoch) && epoch > 0) {
        return { owner, epoch };
      }
    }
  } catch {
    // Falls through to the same answer: no guess about an epoch is safe.
  }
  throw new AtollError("internal_error", "the epoch file of a shard is damaged", {
    hint: "restore the shard's directory from a backup",
  });
}
