// Bearer tokens: `atoll_<id>_<secret>`. The id finds the record, the secret proves possession. Only a SHA-256 of the
// secret is kept; that is enough for 256 random bits.
import { createHash, timingSafeEqual } from "node:crypto";
import { newId, type Random } from "../../base/random.ts";

const TOKEN = /^atoll_([0-9a-v]{26})_([A-Za-z0-9_-]{43})$/;
const SECRET_BYTES = 32;

export interface MintedToken {
  readonly id: string;
  readonly digest: Uint8Array;
  /** The whole token. Shown once, kept nowhere. */
  readonly text: string;
}

export function mintToken(random: Random): MintedToken {
  const id = newId(random, "");
  const secret = Buffer.from(random.bytes(SECRET_BYTES)).toString("base64url");
  return { id, digest: digestOf(secret), text: `atoll_${id}_${secret}` };
}

/** Null when the text is no token of this Host's shape. */
export function readToken(text: string): { readonly id: string; readonly digest: Uint8Array } | null {
  const [, id, secret] = TOKEN.exec(text) ?? [];
  return id === undefined || secret === undefined ? null : { id, digest: digestOf(secret) };
}

/** In constant time. */
export function sameDigest(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

function digestOf(secret: string): Uint8Array {
  return createHash("sha256").update(secret).digest();
}
