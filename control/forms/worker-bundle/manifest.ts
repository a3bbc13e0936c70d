// The manifest of a bundle: an inventory of bytes and media types, nothing that is executed or resolved (WB-4, WB-6).
import { z } from "zod";
import type { Sha256Hex } from "../../../base/ids.ts";
import { BUNDLE_FILES_MAX } from "../../../base/limits.ts";
import { parseStrictJson, StrictJsonError } from "../../../base/strict-json.ts";
import type { MediaType } from "../../../runtime/workers/worker-runtime.ts";
import { faultOf } from "../read-spec.ts";
import { artifactDigest, artifactUrl } from "./spec.ts";

export interface ManifestFile {
  readonly path: string;
  readonly url: string;
  readonly sha256: Sha256Hex;
  readonly mediaType: MediaType;
}

export interface Manifest {
  readonly entrypoint: string;
  /** In the manifest's order (WB-16). */
  readonly files: readonly ManifestFile[];
}

/** The bytes are no manifest. The message names the rule that is broken and holds no URL. */
export class ManifestFault extends Error {
  override readonly name = "ManifestFault";
}

/** WB-18: bytes as UTF-8. */
const PATH_BYTES_MAX = 1024;
const ENTRYPOINT_TYPE: MediaType = "application/javascript+module";

const path = z.string().refine(isBundlePath, {
  error: "must be a relative POSIX path of at most 1024 bytes, without '.', '..', '\\', '?', '#'",
});

/** WB-17, WB-22 and WB-A1, which adds the source map. */
const file = z.strictObject({
  path,
  url: artifactUrl,
  sha256: artifactDigest,
  mediaType: z.enum([
    "application/javascript+module",
    "text/plain",
    "application/octet-stream",
    "application/wasm",
    "application/source-map+json",
  ]),
});

const schema = z
  .strictObject({ entrypoint: z.string(), files: z.array(file).min(1).max(BUNDLE_FILES_MAX) })
  .refine((it) => new Set(it.files.map((file) => file.path)).size === it.files.length, {
    path: ["files"],
    error: "must not have the same path twice",
  })
  .refine((it) => it.files.some((file) => file.path === it.entrypoint && file.mediaType === ENTRYPOINT_TYPE), {
    path: ["entrypoint"],
    error: `must be the path of a file whose mediaType is ${ENTRYPOINT_TYPE}`,
  });

/** Reads verified bytes as a manifest (WB-14 … WB-22, WB-36, WB-A8). Throws ManifestFault. */
export function parseManifest(bytes: Uint8Array): Manifest {
  const result = faultOf(schema, json(bytes), "The manifest");
  if (result.type === "fault") throw new ManifestFault(result.message);
  return result.value;
}

function json(bytes: Uint8Array): unknown {
  try {
    return parseStrictJson(bytes);
  } catch (error) {
    if (error instanceof StrictJsonError) throw new ManifestFault(`The manifest is refused: ${error.message}.`);
    throw error;
  }
}

/** WB-18. */
export function isBundlePath(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- control characters are what the rule names
  if (text === "" || /[\u0000-\u001f\u007f\\?#]/.test(text)) return false;
  if (!text.isWellFormed() || new TextEncoder().encode(text).length > PATH_BYTES_MAX) return false;
  return text.split("/").every((segment) => segment !== "" && segment !== "." && segment !== "..");
}
