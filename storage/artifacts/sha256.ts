import type { Sha256Hex } from "../../base/ids.ts";

/** The SHA-256 digest of `bytes` as 64 lowercase hex digits, computed beside the event loop. */
export async function sha256Of(bytes: Uint8Array<ArrayBuffer>): Promise<Sha256Hex> {
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return Buffer.from(digest).toString("hex") as Sha256Hex;
}
