// The manifest of a WorkerBundle (WB-14 … WB-22), as bytes that depend on the files alone.
import { MANIFEST_BYTES_MAX } from "../../base/limits.ts";
import { BuildError } from "./build-error.ts";
import { sha256Hex } from "./sha256-hex.ts";
import type { WorkerFiles } from "./worker-files.ts";

export interface Manifest {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly sha256: string;
}

/**
 * Bytes that the node holds need no server behind their URL, so it names a host that cannot exist (RFC 2606): nobody
 * can be asked for them, and nobody can answer with others.
 */
export function artifactUrl(sha256: string): string {
  return `https://artifacts.invalid/sha256/${sha256}`;
}

export function manifestOf({ entrypoint, files }: WorkerFiles): Manifest {
  const listed = files.map(({ path, sha256, mediaType }) => ({ path, url: artifactUrl(sha256), sha256, mediaType }));
  const bytes = new TextEncoder().encode(JSON.stringify({ entrypoint, files: listed }));
  if (bytes.length > MANIFEST_BYTES_MAX)
    throw new BuildError("the bundle has too many files; its manifest exceeds 1 MiB");
  return { bytes, sha256: sha256Hex(bytes) };
}
