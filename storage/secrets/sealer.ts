// Sealing and private comparison under the Host's key.
//
//   K1. Each purpose has a key of its own, derived with HKDF: a weakness in one use tells nothing about another.
//   K2. Sealed bytes are bound to their context (`about`): moved elsewhere they do not open.
//   K3. Comparison is an HMAC under a key that is never stored: whoever holds the store alone cannot test guesses.
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import { invariant } from "../../base/invariant.ts";
import type { Random } from "../../base/random.ts";
import type { SealedBytes } from "../control/records.ts";
import { MASTER_KEY_BYTES } from "./master-key.ts";

const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const MAC_BYTES = 32;

export class Sealer {
  /** Names the key without telling anything about it; stored beside what was sealed. */
  readonly keyId: string;
  readonly #sealing: Uint8Array;
  readonly #comparing: Uint8Array;
  readonly #random: Random;

  /** `master` is 32 bytes. `purpose` separates the keys of different uses (K1). */
  constructor(master: Uint8Array, purpose: string, random: Random) {
    invariant(master.length === MASTER_KEY_BYTES, "a master key has 32 bytes");
    const derive = (use: string, count: number): Uint8Array =>
      new Uint8Array(hkdfSync("sha256", master, new Uint8Array(0), `atoll/${purpose}/${use}`, count));
    this.#sealing = derive("seal", 32);
    this.#comparing = derive("compare", 32);
    this.keyId = Buffer.from(derive("id", 12)).toString("base64url");
    this.#random = random;
  }

  /** AES-256-GCM with a fresh nonce: nonce, ciphertext and tag in one. */
  seal(plain: Uint8Array, about: string): SealedBytes {
    const nonce = this.#random.bytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#sealing, nonce);
    cipher.setAAD(Buffer.from(about));
    const bytes = Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
    return { keyId: this.keyId, bytes };
  }

  /** The plain bytes; null when they were sealed under another key, about something else, or are damaged. */
  unseal(sealed: SealedBytes, about: string): Uint8Array | null {
    if (sealed.keyId !== this.keyId || sealed.bytes.length < NONCE_BYTES + TAG_BYTES) return null;
    const tagAt = sealed.bytes.length - TAG_BYTES;
    try {
      const decipher = createDecipheriv(CIPHER, this.#sealing, sealed.bytes.subarray(0, NONCE_BYTES));
      decipher.setAAD(Buffer.from(about));
      decipher.setAuthTag(sealed.bytes.subarray(tagAt));
      return Buffer.concat([decipher.update(sealed.bytes.subarray(NONCE_BYTES, tagAt)), decipher.final()]);
    } catch {
      return null;
    }
  }

  /** What `matches` compares with later. Equal values about different things have unrelated material. */
  material(plain: Uint8Array, about: string): SealedBytes {
    return { keyId: this.keyId, bytes: this.#mac(plain, about) };
  }

  /** In constant time; `unknown` when the material belongs to another key or is damaged. */
  matches(material: SealedBytes, plain: Uint8Array, about: string): "equal" | "different" | "unknown" {
    if (!this.canCompare(material)) return "unknown";
    return timingSafeEqual(material.bytes, this.#mac(plain, about)) ? "equal" : "different";
  }

  /** Whether `matches` can tell anything about this material. */
  canCompare(material: SealedBytes): boolean {
    return material.keyId === this.keyId && material.bytes.length === MAC_BYTES;
  }

  #mac(plain: Uint8Array, about: string): Uint8Array {
    const context = Buffer.from(about);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(context.length);
    return createHmac("sha256", this.#comparing).update(length).update(context).update(plain).digest();
  }
}
