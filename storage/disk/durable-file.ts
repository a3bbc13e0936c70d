// Small files written so that a crash leaves the old bytes or the new ones, never a mixture and never half a file.
//
//   D1. `writeDurable` returns only when the bytes and the name are on the disk.
//   D2. A reader sees a whole file at every instant: the new content appears by a rename.
//
// Meant for files of at most some megabytes that are written rarely: keys, certificates, tokens.
import { randomUUID } from "node:crypto";
import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";

/**
 * Replace or create the file `path` with exactly `bytes`, durably (D1, D2). `mode` is set exactly, whatever the
 * umask, before the name appears. The directory must exist. Rejects with the platform's error and leaves the old
 * file as it was.
 */
export async function writeDurable(path: string, bytes: Uint8Array | string, mode: number): Promise<void> {
  const directory = dirname(path);
  // The same directory, hence the same file system: a rename across file systems is no rename.
  const draft = join(directory, `.${basename(path)}.${randomUUID()}.tmp`);
  try {
    // 0600 until the content is complete: a secret is never readable by others, not even for an instant.
    const file = await open(draft, "wx", 0o600);
    try {
      await file.writeFile(bytes);
      await file.chmod(mode);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  await syncDirectory(directory);
}

/** The bytes of the file, or null when there is none. Every other failure rejects with the platform's error. */
export async function readIfExists(path: string): Promise<Uint8Array | null> {
  try {
    return await readFile(path);
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/** Make the directory and its missing parents with `mode`, durably. One that exists keeps its own mode. */
export async function ensureDir(path: string, mode: number): Promise<void> {
  const wanted = resolve(path);
  const first = await mkdir(wanted, { recursive: true, mode });
  if (first === undefined) return;
  // Every new name is an entry of its parent, so the parents are what has to reach the disk.
  const outermost = dirname(resolve(first));
  for (let at = wanted; at !== outermost; at = dirname(at)) await syncDirectory(dirname(at));
}

/** Make the names in a directory durable: an fsync of a file alone does not keep its directory entry. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** Whether a platform error says that there is no such file or directory. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR");
}
