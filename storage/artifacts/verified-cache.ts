import type { Sha256Hex } from "../../base/ids.ts";

/**
 * Bytes that were compared with their digest a moment ago, least recently used first to go. Small blobs only: one
 * large file would push out hundreds of modules. Hands out copies, so that no reader can change what the next one
 * gets.
 */
export class VerifiedCache {
  readonly #bytesMax: number;
  readonly #blobBytesMax: number;
  readonly #blobs = new Map<Sha256Hex, Uint8Array>();
  #bytes = 0;

  constructor(limits: { readonly bytesMax: number; readonly blobBytesMax: number }) {
    this.#bytesMax = limits.bytesMax;
    this.#blobBytesMax = Math.min(limits.blobBytesMax, limits.bytesMax);
  }

  get(sha256: Sha256Hex): Uint8Array | null {
    const bytes = this.#blobs.get(sha256);
    if (bytes === undefined) return null;
    // A Map keeps the order of insertion: putting it back makes it the youngest.
    this.#blobs.delete(sha256);
    this.#blobs.set(sha256, bytes);
    return bytes.slice();
  }

  add(sha256: Sha256Hex, bytes: Uint8Array): void {
    if (bytes.byteLength > this.#blobBytesMax || this.#blobs.has(sha256)) return;
    this.#blobs.set(sha256, bytes.slice());
    this.#bytes += bytes.byteLength;
    for (const oldest of this.#blobs.keys()) {
      if (this.#bytes <= this.#bytesMax) break;
      this.delete(oldest);
    }
  }

  delete(sha256: Sha256Hex): void {
    this.#bytes -= this.#blobs.get(sha256)?.byteLength ?? 0;
    this.#blobs.delete(sha256);
  }
}
