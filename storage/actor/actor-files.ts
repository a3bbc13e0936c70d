// The files of a shard's actors. Runs where the shard's log is; no database is opened here.
//
//   actors/<namespace uid>/<2 hex>/<actor id>.sqlite   one file a store
//   open/<epoch>-<n>.sqlite-wal                        what open stores have not moved into their files; worth nothing
//                                                      after the process, for the log has it all
//
//   F1. No file is touched while a store is open on it: closing a descriptor would drop that connection's locks.
import { closeSync, linkSync, mkdirSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { invariant } from "../../base/invariant.ts";
import { isName } from "../../base/ids.ts";
import { ensureDir, isMissing, syncDirectory } from "../disk/durable-file.ts";
import { type ActorKey, actorPath } from "./actor-key.ts";
import { eachPage } from "./commit-payload.ts";
import { lineageOf, STORE_HEADER_BYTES, storeTemplate } from "./store-template.ts";
import { PAGE_BYTES } from "./wal-tail.ts";

export class ActorFiles {
  readonly #actors: string;
  readonly #openings: string;
  readonly #epoch: number;
  readonly #template = storeTemplate();
  #openingCount = 0;

  private constructor(shardDirectory: string, epoch: number) {
    this.#actors = join(shardDirectory, "actors");
    this.#openings = join(shardDirectory, "open");
    this.#epoch = epoch;
  }

  /** Use the shard's directory, which this owner holds with `epoch`. What former openings left behind is removed. */
  static async open(shardDirectory: string, epoch: number): Promise<ActorFiles> {
    const files = new ActorFiles(shardDirectory, epoch);
    await rm(files.#openings, { recursive: true, force: true });
    await ensureDir(files.#openings, 0o700);
    await ensureDir(files.#actors, 0o700);
    return files;
  }

  /** The lineage in the actor's file: 0n before its first commit, null when there is no usable file. */
  lineage(key: ActorKey): bigint | null {
    let descriptor: number;
    try {
      descriptor = openSync(this.#path(key), "r");
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
    try {
      const header = Buffer.alloc(STORE_HEADER_BYTES);
      const count = readSync(descriptor, header, 0, header.length, 0);
      return lineageOf(header.subarray(0, count));
    } finally {
      closeSync(descriptor);
    }
  }

  /** Make the actor's file what every store starts as, whatever was there. */
  reset(key: ActorKey): void {
    const path = this.#path(key);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const descriptor = openSync(path, "w", 0o600);
    try {
      writeAll(descriptor, this.#template, 0);
    } finally {
      closeSync(descriptor);
    }
  }

  /**
   * Put the pages of `commits` into the actor's file, oldest first. Doing it again does no harm, and a file torn by a
   * loss of power is made whole, as long as the commits reach back to its last sync.
   */
  redo(key: ActorKey, commits: Iterable<Uint8Array>): void {
    const descriptor = openSync(this.#path(key), "r+");
    try {
      for (const frames of commits) {
        eachPage(frames, (page, image) => writeAll(descriptor, image, (page - 1) * PAGE_BYTES));
      }
    } finally {
      closeSync(descriptor);
    }
  }

  /** A name for one opening of the actor's file, in a directory of its own. The opener removes it. */
  link(key: ActorKey): string {
    const path = join(this.#openings, `${this.#epoch}-${++this.#openingCount}.sqlite`);
    linkSync(this.#path(key), path);
    return path;
  }

  /** Remove what an opening that has ended may have left. */
  discard(path: string): void {
    for (const one of [path, `${path}-wal`]) rmSync(one, { force: true });
  }

  /** Make the file of an actor that is not open durable, and its name too. */
  async sync(key: ActorKey): Promise<void> {
    const file = await open(this.#path(key), "r+");
    try {
      await file.datasync();
    } finally {
      await file.close();
    }
    await this.syncName(key);
  }

  /** Make the name of the actor's file durable. */
  async syncName(key: ActorKey): Promise<void> {
    const directory = dirname(this.#path(key));
    for (const one of [directory, dirname(directory), this.#actors]) await syncDirectory(one);
  }

  /** Remove the file of an actor that never committed anything. */
  forget(key: ActorKey): void {
    rmSync(this.#path(key), { force: true });
  }

  /** Remove all files of one namespace, durably, and nothing else (AN-112). None of its stores is open. */
  async purge(namespace: string): Promise<void> {
    invariant(isName(namespace), "a namespace's UID is one path segment");
    await rm(join(this.#actors, namespace), { recursive: true, force: true });
    await syncDirectory(this.#actors);
  }

  #path(key: ActorKey): string {
    invariant(isName(key.namespace), "a namespace's UID is one path segment");
    const { directory, file } = actorPath(key);
    return join(this.#actors, directory, file);
  }
}

function writeAll(descriptor: number, bytes: Uint8Array, position: number): void {
  for (let done = 0; done < bytes.length; ) {
    done += writeSync(descriptor, bytes, done, bytes.length - done, position + done);
  }
}
