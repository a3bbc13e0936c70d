import { SeededRandom } from "../../../../base/random.ts";
import type { LogDisk, LogFile } from "../../../../storage/shard-log/log-disk.ts";

const SECTOR_BYTES = 512;

interface Content {
  /** What reads see: the system's cache. */
  cached: Buffer;
  /** What the last sync put on the disk. */
  synced: Buffer;
}

/** A disk that keeps apart what is synced and what is not, can lose power at any operation, and fails on demand. */
export class SimulatedLogDisk implements LogDisk {
  readonly #random: SeededRandom;
  #names = new Map<string, Content>();
  #syncedNames = new Map<string, Content>();
  #operationsLeft = Number.POSITIVE_INFINITY;
  /** The next syncs fail so many times, keeping nothing, and then "succeed" without the lost bytes. */
  syncFailures = 0;
  /** Writes beyond so many bytes, all told, fail as on a full disk. */
  roomBytes = Number.POSITIVE_INFINITY;
  /** The most that one write takes. */
  biteBytes = Number.POSITIVE_INFINITY;
  syncs = 0;

  constructor(seed: number) {
    this.#random = new SeededRandom(seed);
  }

  /** From the operation after `count` more on, everything fails. */
  powerOffAfter(count: number): void {
    this.#operationsLeft = count;
  }

  /** Power is back. Of what was not synced, each sector came through or did not, and one in a few is torn. */
  losePower(): void {
    this.#operationsLeft = Number.POSITIVE_INFINITY;
    for (const [name, content] of [...this.#names, ...this.#syncedNames]) {
      const present = this.#syncedNames.has(name);
      // A change of the directory that was not synced happened or did not.
      if (present !== this.#names.has(name)) {
        if (this.#random.below(2) === 0) this.#names.set(name, content);
        else this.#names.delete(name);
      }
    }
    for (const content of new Set(this.#names.values())) {
      content.cached = this.#survivors(content);
      content.synced = Buffer.from(content.cached);
    }
    this.#syncedNames = new Map(this.#names);
  }

  /** The process died: what the system has in its cache stays. */
  killProcess(): void {
    this.#operationsLeft = Number.POSITIVE_INFINITY;
  }

  /** Change a byte on the disk behind everybody's back. */
  damage(name: string, position: number): void {
    const content = this.#content(name);
    content.cached[position] = (content.cached[position] ?? 0) ^ 0x55;
    content.synced = Buffer.from(content.cached);
  }

  /** Cut the file, on the disk too. */
  cut(name: string, bytes: number): void {
    const content = this.#content(name);
    content.cached = content.cached.subarray(0, bytes);
    content.synced = Buffer.from(content.cached);
  }

  bytesOf(name: string): Buffer {
    return this.#content(name).cached;
  }

  list(): readonly string[] {
    return [...this.#names.keys()];
  }

  create(name: string): LogFile {
    this.#operate();
    if (this.#names.has(name)) throw new Error("EEXIST");
    this.#names.set(name, { cached: Buffer.alloc(0), synced: Buffer.alloc(0) });
    return this.open(name);
  }

  open(name: string): LogFile {
    const content = this.#content(name);
    return {
      size: () => content.cached.length,
      read: (into, position) => content.cached.copy(into, 0, position, position + into.length),
      write: (bytes, position) => this.#write(content, bytes, position),
      sync: () => this.#sync(content),
      close: () => {},
    };
  }

  remove(name: string): void {
    this.#operate();
    this.#names.delete(name);
  }

  async syncNames(): Promise<void> {
    this.#operate();
    this.#syncedNames = new Map(this.#names);
  }

  #write(content: Content, bytes: Uint8Array, position: number): number {
    this.#operate();
    const taken = Math.min(bytes.length, this.biteBytes);
    this.roomBytes -= taken;
    if (this.roomBytes < 0) throw new Error("ENOSPC");
    if (content.cached.length < position + taken) {
      content.cached = Buffer.concat([content.cached, Buffer.alloc(position + taken - content.cached.length)]);
    }
    content.cached.set(bytes.subarray(0, taken), position);
    return taken;
  }

  async #sync(content: Content): Promise<void> {
    const image = Buffer.from(content.cached);
    await Promise.resolve();
    this.#operate();
    this.syncs++;
    if (this.syncFailures > 0) {
      this.syncFailures--;
      throw new Error("EIO");
    }
    content.synced = image;
  }

  #operate(): void {
    if (this.#operationsLeft <= 0) throw new Error("the power is off");
    this.#operationsLeft--;
  }

  #survivors({ cached, synced }: Content): Buffer {
    const length =
      this.#random.below(2) === 0 ? cached.length : Math.max(synced.length, this.#random.below(cached.length + 1));
    const image = Buffer.alloc(length);
    synced.copy(image);
    for (let at = 0; at < length; at += SECTOR_BYTES) {
      const chance = this.#random.below(8);
      const end = chance === 0 ? at + this.#random.below(SECTOR_BYTES) : at + SECTOR_BYTES;
      if (chance < 4) cached.copy(image, at, at, Math.min(end, length));
    }
    return image;
  }

  #content(name: string): Content {
    const content = this.#names.get(name);
    if (content === undefined) throw new Error("ENOENT");
    return content;
  }
}
