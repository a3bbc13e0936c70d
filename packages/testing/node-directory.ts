import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

export interface NodeDirectory {
  readonly path: string;
  /** Removes it if it was made for the test. */
  remove(): Promise<void>;
}

/** The data directory of a node: the given one, or a fresh one. */
export async function nodeDirectory(given: string | undefined): Promise<NodeDirectory> {
  if (given !== undefined) return { path: resolve(given), remove: async () => {} };
  const path = await mkdtemp(join(tmpdir(), "atoll-testing-"));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}
