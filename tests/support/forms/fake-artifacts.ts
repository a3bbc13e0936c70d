import { createHash } from "node:crypto";
import { AtollError, type ErrorCode } from "../../../base/errors.ts";
import type { ResourceUid, Sha256Hex } from "../../../base/ids.ts";
import type { AcquireRequest, ArtifactAcquirer } from "../../../control/artifacts/acquirer.ts";

export function sha256(bytes: Uint8Array | string): Sha256Hex {
  return createHash("sha256").update(bytes).digest("hex") as Sha256Hex;
}

const HOST = "https://artifacts.example";

export interface BundleFile {
  readonly path: string;
  readonly content: string | Uint8Array;
  readonly mediaType?: string;
}

/** Sources on a network that exists only here, and the store behind them. */
export class FakeArtifacts implements ArtifactAcquirer {
  readonly #sources = new Map<string, Uint8Array>();
  readonly #blobs = new Map<Sha256Hex, Uint8Array>();
  readonly #pins = new Map<Sha256Hex, Set<ResourceUid>>();
  /** Codes that the next acquisitions of a digest fail with, first one first. */
  readonly #failures = new Map<Sha256Hex, ErrorCode[]>();
  readonly requests: AcquireRequest[] = [];
  inFlight = 0;
  inFlightMax = 0;
  releaseFault: Error | null = null;

  async acquire(request: AcquireRequest): Promise<{ byteSize: number }> {
    this.requests.push(request);
    this.inFlight++;
    this.inFlightMax = Math.max(this.inFlightMax, this.inFlight);
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.inFlight--;
    const planned = this.#failures.get(request.sha256)?.shift();
    if (planned !== undefined) throw new AtollError(planned, "The test wants it so.");
    const bytes = this.#blobs.get(request.sha256) ?? this.#sources.get(request.url);
    if (bytes === undefined) throw new AtollError("artifact_unreachable", "The source does not answer.");
    if (bytes.length > request.bytesMax) throw new AtollError("artifact_limit_exceeded", "The artifact is too large.");
    if (sha256(bytes) !== request.sha256) {
      throw new AtollError("artifact_digest_mismatch", "The bytes do not match the declared digest.");
    }
    this.#blobs.set(request.sha256, bytes);
    this.#pins.set(request.sha256, (this.#pins.get(request.sha256) ?? new Set()).add(request.owner));
    return { byteSize: bytes.length };
  }

  async read(digest: Sha256Hex): Promise<Uint8Array> {
    const bytes = this.#blobs.get(digest);
    if (bytes === undefined) throw new AtollError("artifact_unreachable", "The artifact is not held.");
    return bytes;
  }

  async holds(digest: Sha256Hex, owner: ResourceUid): Promise<boolean> {
    return this.#blobs.has(digest) && (this.#pins.get(digest)?.has(owner) ?? false);
  }

  async release(owner: ResourceUid): Promise<void> {
    if (this.releaseFault !== null) throw this.releaseFault;
    for (const [digest, owners] of this.#pins) {
      if (owners.delete(owner) && owners.size === 0) this.#blobs.delete(digest);
    }
  }

  /** Offer bytes at a URL; the answer is what a spec or a manifest says about them. */
  publish(name: string, content: string | Uint8Array): { url: string; sha256: Sha256Hex } {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    const url = `${HOST}/${name}`;
    this.#sources.set(url, bytes);
    return { url, sha256: sha256(bytes) };
  }

  /** A manifest over these files, all of them published; the answer is the artifact of a WorkerBundle. */
  publishBundle(files: readonly BundleFile[], entrypoint = files[0]?.path ?? ""): { url: string; sha256: Sha256Hex } {
    const entries = files.map(({ path, content, mediaType = "application/javascript+module" }) => {
      return { path, ...this.publish(`files/${path}`, content), mediaType };
    });
    const text = JSON.stringify({ entrypoint, files: entries });
    return this.publish(`manifests/${sha256(text)}`, text);
  }

  unpublishAll(): void {
    this.#sources.clear();
  }

  failNext(digest: Sha256Hex, ...codes: ErrorCode[]): void {
    this.#failures.set(digest, codes);
  }

  /** As if a disk had lost it. */
  lose(digest: Sha256Hex): void {
    this.#blobs.delete(digest);
  }

  ownersOf(digest: Sha256Hex): readonly ResourceUid[] {
    return [...(this.#pins.get(digest) ?? [])];
  }
}
