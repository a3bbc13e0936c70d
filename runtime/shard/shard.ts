// A shard: one contiguous range of keys, the unit of ownership, storage and failover.
//
//     open ──close()──▶ closing ──everything stopped──▶ closed
//
//   S1. At most one process has a shard open; the lock is the operating system's, so a killed owner never blocks.
//   S2. Opening is recovery: it claims a new epoch and reads what is there, the same after a crash and after a stop.
//   S3. Whatever a stale owner writes fails with `stale_epoch`.
import type { Clock } from "../../base/clock.ts";
import type { NodeId, ShardId } from "../../base/ids.ts";
import { InvariantViolation } from "../../base/invariant.ts";
import type { Logger } from "../../base/log.ts";
import type { Random } from "../../base/random.ts";
import { ShardStore } from "../../storage/shard/shard-store.ts";
import { Wheel } from "../wheel/wheel.ts";

export type ShardPhase = "open" | "closing" | "closed";
type Change = "close" | "stopped";

/** Pure: what comes next. A change that does not fit the phase is a bug. */
export function nextPhase(phase: ShardPhase, change: Change): ShardPhase {
  if (phase === "open" && change === "close") return "closing";
  if (phase === "closing" && change === "stopped") return "closed";
  throw new InvariantViolation(`shard: ${change} while ${phase}`);
}

export interface ShardOptions {
  /** The data directory; the shard lives in `shards/<id>` below it. */
  readonly directory: string;
  readonly shard: ShardId;
  readonly owner: NodeId;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** See WheelParts. */
  readonly clockCheckMs?: number;
}

export class Shard {
  readonly id: ShardId;
  /** The one way to be late: due times and short waits of everything in this shard. */
  readonly wheel: Wheel;
  readonly #store: ShardStore;
  #phase: ShardPhase = "open";

  private constructor(id: ShardId, store: ShardStore, wheel: Wheel) {
    this.id = id;
    this.#store = store;
    this.wheel = wheel;
  }

  /** Open the shard under a new epoch (S2). Rejects `data_directory_in_use` while another process has it (S1). */
  static async open(options: ShardOptions): Promise<Shard> {
    const { directory, shard, owner, clock, random } = options;
    const store = await ShardStore.open(directory, shard, owner);
    const logger = options.logger.with({ shard, epoch: store.fence.epoch });
    logger.info("shard opened");
    const { clockCheckMs } = options;
    const wheelParts = { clock, random, logger, index: store.dueIndex };
    return new Shard(
      shard,
      store,
      new Wheel(clockCheckMs === undefined ? wheelParts : { ...wheelParts, clockCheckMs }),
    );
  }

  get phase(): ShardPhase {
    return this.#phase;
  }

  /** The fence of this opening: every durable write and every message to another shard carries it. */
  get epoch(): number {
    return this.#store.fence.epoch;
  }

  /** Throws `stale_epoch` when another owner has claimed the shard since (S3). */
  assertCurrent(): void {
    this.#store.assertCurrent();
  }

  /** Stop the wheel, wait for its running handlers, and give the directory back. */
  async close(): Promise<void> {
    this.#phase = nextPhase(this.#phase, "close");
    await this.wheel.close();
    this.#store.close();
    this.#phase = nextPhase(this.#phase, "stopped");
  }
}
