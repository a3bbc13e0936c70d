// The files of the artifact store: a draft area and the content-addressed tree.
//
//   <dir>/incoming/<random>       a draft being written; whatever is here at start is left over from a crash
//   <dir>/sha256/ab/abcd…         a whole file whose bytes have that digest
//
//   B1. A name in the tree appears by a rename of a complete, synced draft whose digest is that name. There is no
//       instant at which it names half a file or other bytes (WB-47).
//
// Faults of the disk reject with `temporarily_unavailable`.
import { createHash, randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { AtollError } from "../../base/errors.ts";
import { isSha256Hex, type Sha256Hex } from "../../base/ids.ts";
import { diskFaults } from "../disk/disk-fault.ts";
import { ensureDir, isMissing, syncDirectory } from "../disk/durable-file.ts";

/** A complete file in the draft area, synced, under no name that anybody reads. */
export interface Draft {
  readonly path: string;
  readonly sha256: Sha256Hex;
  readonly byteSize: number;
}

export class BlobFiles {
  readonly #incoming: string;
  readonly #tree: string;
  /** Folders of the tree on their way to the disk: nobody publishes into one whose own name is not durable yet. */
  readonly #folders = new Map<string, Promise<void>>();

  private constructor(incoming: string, tree: string) {
    this.#incoming = incoming;
    this.#tree = tree;
  }

  /** Make the folders and remove the drafts of a process that died. One process at a time owns `dir`. */
  static async open(dir: string): Promise<BlobFiles> {
    const files = new BlobFiles(join(dir, "incoming"), join(dir, "sha256"));
    await ensureDir(files.#incoming, 0o700);
    await ensureDir(files.#tree, 0o700);
    for (const name of await readdir(files.#incoming)) {
      await rm(join(files.#incoming, name), { recursive: true, force: true });
    }
    return files;
  }

  /**
   * Write `source` to a draft while hashing it. Stops before more than `bytesMax` bytes were taken in (WB-34):
   * rejects with `artifact_limit_exceeded` and cancels the source. Leaves nothing behind when it rejects.
   */
  async draft(source: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Draft> {
    const path = join(this.#incoming, randomUUID());
    const hash = createHash("sha256");
    let byteSize = 0;
    const file = await this.#openDraft(path, source);
    try {
      try {
        for await (const chunk of source) {
          if (chunk.byteLength > bytesMax - byteSize) {
            throw new AtollError("artifact_limit_exceeded", `The content is larger than ${bytesMax} bytes.`);
          }
          hash.update(chunk);
          await diskFaults(() => writeAll(file, chunk, byteSize));
          byteSize += chunk.byteLength;
        }
        await diskFaults(() => file.sync());
      } finally {
        await file.close();
      }
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    }
    return { path, sha256: hash.digest("hex") as Sha256Hex, byteSize };
  }

  /** Give the draft its name in the tree, durably (B1). Replaces a damaged file of that name. */
  async publish(draft: Draft): Promise<void> {
    await diskFaults(async () => {
      await this.#makeFolder(this.#folderOf(draft.sha256));
      await rename(draft.path, this.#pathOf(draft.sha256));
      await syncDirectory(this.#folderOf(draft.sha256));
    });
  }

  async discard(draft: Draft): Promise<void> {
    await rm(draft.path, { force: true });
  }

  /** The bytes under the name, unchecked; null when there is no such file. */
  async read(sha256: Sha256Hex): Promise<Uint8Array<ArrayBuffer> | null> {
    return await diskFaults(() => nullIfMissing(Bun.file(this.#pathOf(sha256)).bytes()));
  }

  /** Read the file again from the disk: its size when the bytes have that digest, else null. */
  async verify(sha256: Sha256Hex): Promise<number | null> {
    const actual = await diskFaults(() => nullIfMissing(digestOf(this.#pathOf(sha256))));
    return actual?.sha256 === sha256 ? actual.byteSize : null;
  }

  async remove(sha256: Sha256Hex): Promise<void> {
    await diskFaults(() => rm(this.#pathOf(sha256), { force: true }));
  }

  /** Every name in the tree, one folder at a time. */
  async *names(): AsyncGenerator<Sha256Hex> {
    for (const folder of await readdir(this.#tree)) {
      for (const name of await readdir(join(this.#tree, folder))) {
        if (isSha256Hex(name)) yield name;
      }
    }
  }

  async #openDraft(path: string, source: AsyncIterable<Uint8Array>): Promise<FileHandle> {
    try {
      return await diskFaults(() => open(path, "wx", 0o600));
    } catch (error) {
      // Nobody will read the source any more: let it close its connection.
      await source[Symbol.asyncIterator]().return?.();
      throw error;
    }
  }

  async #makeFolder(path: string): Promise<void> {
    const making = this.#folders.get(path) ?? ensureDir(path, 0o700);
    this.#folders.set(path, making);
    try {
      await making;
    } catch (error) {
      this.#folders.delete(path);
      throw error;
    }
  }

  #folderOf(sha256: Sha256Hex): string {
    return join(this.#tree, sha256.slice(0, 2));
  }

  #pathOf(sha256: Sha256Hex): string {
    return join(this.#folderOf(sha256), sha256);
  }
}

async function writeAll(file: FileHandle, chunk: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < chunk.byteLength; ) {
    done += (await file.write(chunk, done, chunk.byteLength - done, position + done)).bytesWritten;
  }
}

async function digestOf(path: string): Promise<{ readonly sha256: Sha256Hex; readonly byteSize: number }> {
  const hash = createHash("sha256");
  let byteSize = 0;
  for await (const chunk of createReadStream(path) as AsyncIterable<Uint8Array>) {
    hash.update(chunk);
    byteSize += chunk.byteLength;
  }
  return { sha256: hash.digest("hex") as Sha256Hex, byteSize };
}

async function nullIfMissing<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}
