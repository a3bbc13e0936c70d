// The artifact store: immutable content under its digest, with the book of who may use it and who keeps it.
//
//   S1. Content counts as held only when every byte was compared with the digest and file and name are on the disk
//       (WB-43, WB-46). A crash at any instant leaves it held whole or not held at all.
//   S2. A digest never gets other bytes (WB-47). Damage on the disk is found when reading and turns the content into
//       content that is not held; it is never handed out.
//   S3. What a pin keeps is never removed (WB-55, WB-58). Removal and every new use of one digest exclude each other.
//   S4. Knowing a digest is no right to the content: a use is granted against the bytes themselves, or by a Space that
//       may use it already (WB-57).
//
// One process at a time owns the directory.
import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { AtollError } from "../../base/errors.ts";
import type { ResourceUid, Sha256Hex, SpaceName } from "../../base/ids.ts";
import { diskFaults } from "../disk/disk-fault.ts";
import { ArtifactLedger, type Pin, type Retention, type Uses } from "./artifact-ledger.ts";
import { BlobFiles, type Draft } from "./blob-files.ts";
import { KeyLock } from "./key-lock.ts";
import { sha256Of } from "./sha256.ts";
import { VerifiedCache } from "./verified-cache.ts";

export interface ArtifactStoreOptions {
  readonly clock: Clock;
  /** Granted content that nobody pins stays this long after its last grant or pin. Default 7 days. */
  readonly grantMsMax?: number;
  /** Content without pin and without grant stays this long. Default 10 minutes. */
  readonly graceMs?: number;
  /** All held content together; more is refused with `artifact_limit_exceeded`. Default 256 GiB. */
  readonly storeBytesMax?: number;
  /** Memory for verified small content. Default 32 MiB. */
  readonly cacheBytesMax?: number;
}

export interface Stored {
  /** False when the content was held before. */
  readonly created: boolean;
  readonly byteSize: number;
}

const DAY_MS = 24 * 60 * 60_000;
const STORE_BYTES_MAX = 256 * 2 ** 30;
const CACHE_BYTES_MAX = 32 * 2 ** 20;
const CACHED_BLOB_BYTES_MAX = 2 ** 20;

export class ArtifactStore {
  readonly #clock: Clock;
  readonly #files: BlobFiles;
  readonly #ledger: ArtifactLedger;
  readonly #retention: Retention;
  readonly #storeBytesMax: number;
  readonly #cache: VerifiedCache;
  readonly #lock = new KeyLock<Sha256Hex>();
  #heldBytes: number;

  private constructor(files: BlobFiles, ledger: ArtifactLedger, options: ArtifactStoreOptions) {
    this.#clock = options.clock;
    this.#files = files;
    this.#ledger = ledger;
    this.#retention = { grantedMs: options.grantMsMax ?? 7 * DAY_MS, ungrantedMs: options.graceMs ?? 10 * 60_000 };
    this.#storeBytesMax = options.storeBytesMax ?? STORE_BYTES_MAX;
    this.#cache = new VerifiedCache({
      bytesMax: options.cacheBytesMax ?? CACHE_BYTES_MAX,
      blobBytesMax: CACHED_BLOB_BYTES_MAX,
    });
    this.#heldBytes = ledger.totalBytes();
  }

  /** Bytes that are held, those that are just arriving included. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Open or create the store in `dir` and remove what a crash left half written. */
  static async open(dir: string, options: ArtifactStoreOptions): Promise<ArtifactStore> {
    const files = await BlobFiles.open(dir);
    return new ArtifactStore(files, ArtifactLedger.open(join(dir, "artifacts.sqlite")), options);
  }

  close(): void {
    this.#ledger.close();
  }

  /**
   * Take in `source` as the content of `sha256` and record its uses. All of it is read and compared even when the
   * content is held (S4). Resolves when everything is durable (S1). Rejects with `artifact_limit_exceeded` before more
   * than `bytesMax` bytes were taken in (WB-34), `artifact_digest_mismatch`, `temporarily_unavailable` when the disk
   * refuses, or with the error of the source; then nothing has changed.
   */
  async put(
    sha256: Sha256Hex,
    source: AsyncIterable<Uint8Array>,
    options: { readonly bytesMax: number } & Uses,
  ): Promise<Stored> {
    const draft = await this.#files.draft(source, options.bytesMax);
    try {
      if (draft.sha256 !== sha256) {
        throw new AtollError("artifact_digest_mismatch", "The content does not have the declared SHA-256 digest.");
      }
      return await this.#lock.run(sha256, () => this.#admit(draft, options));
    } finally {
      await this.#files.discard(draft);
    }
  }

  /**
   * Pin content that is held and that the pin's Space may use (WB-25, WB-57). The size in bytes, or null when the
   * content is not held whole or not for this Space; the two are indistinguishable on purpose. Rejects with
   * `artifact_limit_exceeded` when it is larger than `bytesMax`.
   */
  async pinHeld(sha256: Sha256Hex, pin: Pin, bytesMax: number): Promise<number | null> {
    return await this.#lock.run(sha256, async () => {
      if (!this.#ledger.mayUse(sha256, pin.space)) return null;
      const byteSize = await this.#verifyHeld(sha256);
      if (byteSize === null) return null;
      if (byteSize > bytesMax) {
        throw new AtollError("artifact_limit_exceeded", `The content is larger than ${bytesMax} bytes.`);
      }
      await diskFaults(async () => this.#ledger.admit(sha256, byteSize, { pin }, this.#clock.nowMs()));
      return byteSize;
    });
  }

  /** Whether `owner` pins the content and the bytes on the disk, read again, match (WB-50). */
  async holds(sha256: Sha256Hex, owner: ResourceUid): Promise<boolean> {
    return await this.#lock.run(
      sha256,
      async () => this.#ledger.isPinned(sha256, owner) && (await this.#verifyHeld(sha256)) !== null,
    );
  }

  /** The size of held content in bytes, from the book; null when it is not held. */
  byteSize(sha256: Sha256Hex): number | null {
    return this.#ledger.byteSize(sha256);
  }

  /** WB-57: whether the Space may use the content if it is held. */
  mayUse(sha256: Sha256Hex, space: SpaceName): boolean {
    return this.#ledger.mayUse(sha256, space);
  }

  /** The verified bytes, the caller's own to change. Rejects with `artifact_unreachable` when they are not held. */
  async read(sha256: Sha256Hex): Promise<Uint8Array> {
    const cached = this.#cache.get(sha256);
    if (cached !== null) return cached;
    if (this.#ledger.byteSize(sha256) === null) throw notHeld();
    const bytes = await this.#files.read(sha256);
    if (bytes !== null && (await sha256Of(bytes)) === sha256) {
      if (this.#ledger.byteSize(sha256) !== null) this.#cache.add(sha256, bytes);
      return bytes;
    }
    // Lost or damaged, unless somebody provided it again in the meantime.
    const healed = await this.#lock.run(sha256, () => this.#verifyHeld(sha256));
    if (healed === null) throw notHeld();
    return await this.read(sha256);
  }

  /** Drop every pin of `owner` (WB-52); what others pin stays. Idempotent. */
  release(owner: ResourceUid): void {
    this.#ledger.release(owner, this.#clock.nowMs());
  }

  /**
   * Remove what nobody pins and whose time is over at `nowMs`, and files that a crash left without an entry in the
   * book. Safe at any time and beside any other call (S3).
   */
  async collect(nowMs: number): Promise<{ readonly removed: number; readonly bytes: number }> {
    let removed = 0;
    let bytes = 0;
    for (const sha256 of this.#ledger.expired(nowMs, this.#retention)) {
      await this.#lock.run(sha256, async () => {
        const byteSize = this.#ledger.strike(sha256, nowMs, this.#retention);
        if (byteSize === null) return;
        this.#drop(sha256, byteSize);
        await this.#files.remove(sha256);
        removed += 1;
        bytes += byteSize;
      });
    }
    for await (const sha256 of this.#files.names()) {
      if (this.#ledger.byteSize(sha256) !== null) continue;
      await this.#lock.run(sha256, async () => {
        if (this.#ledger.byteSize(sha256) === null) await this.#files.remove(sha256);
      });
    }
    this.#ledger.sweepGrants(nowMs, this.#retention);
    return { removed, bytes };
  }

  /** Under the lock of the digest. The draft has that digest. */
  async #admit(draft: Draft, uses: Uses): Promise<Stored> {
    const { sha256, byteSize } = draft;
    if ((await this.#verifyHeld(sha256)) !== null) {
      await this.#record(draft, uses);
      return { created: false, byteSize };
    }
    if (this.#heldBytes + byteSize > this.#storeBytesMax) {
      throw new AtollError("artifact_limit_exceeded", "The artifact store is full; delete bundles no longer in use.");
    }
    // Counted before the next await, so that two puts cannot both take the last free bytes.
    this.#heldBytes += byteSize;
    try {
      await this.#files.publish(draft);
      await this.#record(draft, uses);
    } catch (error) {
      this.#heldBytes -= byteSize;
      throw error;
    }
    return { created: true, byteSize };
  }

  async #record(draft: Draft, uses: Uses): Promise<void> {
    await diskFaults(async () => this.#ledger.admit(draft.sha256, draft.byteSize, uses, this.#clock.nowMs()));
  }

  /** Under the lock of the digest: compare the file on the disk, and strike it off the book when it is damaged (S2). */
  async #verifyHeld(sha256: Sha256Hex): Promise<number | null> {
    const recorded = this.#ledger.byteSize(sha256);
    if (recorded === null) return null;
    const byteSize = await this.#files.verify(sha256);
    if (byteSize === null) {
      this.#ledger.forget(sha256);
      this.#drop(sha256, recorded);
    }
    return byteSize;
  }

  #drop(sha256: Sha256Hex, byteSize: number): void {
    this.#cache.delete(sha256);
    this.#heldBytes -= byteSize;
  }
}

function notHeld(): AtollError {
  return new AtollError("artifact_unreachable", "The content is not held by this host; provide it again.");
}
