// What one shard keeps on disk, opened in the only safe order: lock, epoch, files.
//
//   shards/<id>/lock           held while the shard is open
//   shards/<id>/epoch          owner and epoch
//   shards/<id>/index.sqlite   due times
import { join } from "node:path";
import type { ShardId } from "../../base/ids.ts";
import { ensureDir } from "../disk/durable-file.ts";
import { DirectoryLock } from "./directory-lock.ts";
import { DueIndex } from "./due-index.ts";
import { EpochFile, type Fence } from "./epoch-file.ts";

export class ShardStore {
  readonly dueIndex: DueIndex;
  readonly #epochFile: EpochFile;
  readonly #lock: DirectoryLock;

  private constructor(lock: DirectoryLock, epochFile: EpochFile, dueIndex: DueIndex) {
    this.#lock = lock;
    this.#epochFile = epochFile;
    this.dueIndex = dueIndex;
  }

  /**
   * Open the shard's directory below the data directory, making it when missing, and claim the next epoch for `owner`.
   * Rejects `data_directory_in_use` while another process has it open; nothing has changed then.
   */
  static async open(dataDirectory: string, shard: ShardId, owner: string): Promise<ShardStore> {
    const directory = join(dataDirectory, "shards", shard);
    await ensureDir(directory, 0o700);
    const lock = DirectoryLock.acquire(directory);
    try {
      const epochFile = await EpochFile.claim(directory, owner);
      const dueIndex = DueIndex.open(join(directory, "index.sqlite"), epochFile.fence);
      return new ShardStore(lock, epochFile, dueIndex);
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  get fence(): Fence {
    return this.#epochFile.fence;
  }

  /** Throws `stale_epoch` when a later owner has claimed the shard. */
  assertCurrent(): void {
    this.#epochFile.assertCurrent();
  }

  close(): void {
    this.dueIndex.close();
    this.#lock.release();
  }
}
