// The one key under which a Host seals: 32 bytes from the environment, or from a file that the first start makes.
import { lstat } from "node:fs/promises";
import { AtollError } from "../../base/errors.ts";
import type { Random } from "../../base/random.ts";
import { readIfExists, writeDurable } from "../disk/durable-file.ts";

export const MASTER_KEY_BYTES = 32;

/**
 * The key of this Host. `given` is the value of the environment variable ATOLL_SECRET_KEY (base64, base64url or hex of
 * 32 bytes) and wins; otherwise the file at `path`, made durably with mode 0600 when there is none. Rejects with
 * `temporarily_unavailable` when either is malformed or the file is open to others: a node that went on with
 * another key could read none of its secrets.
 */
export async function loadMasterKey(options: {
  readonly path: string;
  readonly given: string | undefined;
  readonly random: Random;
}): Promise<Uint8Array> {
  if (options.given !== undefined && options.given !== "") return decodeKey(options.given.trim(), "ATOLL_SECRET_KEY");
  const kept = await readIfExists(options.path);
  if (kept !== null) {
    if (((await lstat(options.path)).mode & 0o077) !== 0) {
      throw new AtollError("temporarily_unavailable", "the key file can be read by others", {
        hint: "Give it mode 0600 (chmod 600), and think about who may have read it.",
      });
    }
    return decodeKey(new TextDecoder().decode(kept).trim(), "the key file");
  }
  const key = options.random.bytes(MASTER_KEY_BYTES);
  await writeDurable(options.path, `${Buffer.from(key).toString("base64")}\n`, 0o600);
  return key;
}

function decodeKey(text: string, what: string): Uint8Array {
  const key = /^[0-9a-fA-F]{64}$/.test(text)
    ? Buffer.from(text, "hex")
    : /^[A-Za-z0-9+/_-]{43}=?$/.test(text)
      ? Buffer.from(text, "base64")
      : null;
  if (key === null || key.length !== MASTER_KEY_BYTES) {
    throw new AtollError("temporarily_unavailable", `${what} is not a 32-byte key in base64 or hex`, {
      hint: "Restore the key this data directory was made with; without it, sealed secrets stay unreadable.",
    });
  }
  return new Uint8Array(key);
}
