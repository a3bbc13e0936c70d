import { z } from "zod";
import { isPlainHttpsUrl, isSha256Hex, type Sha256Hex } from "../../../base/ids.ts";
import type { Json } from "../../../base/json.ts";
import { readSpec } from "../read-spec.ts";

export interface WorkerBundleSpec {
  readonly artifact: { readonly url: string; readonly sha256: Sha256Hex };
}

/** WB-9, WB-20: absolute, ASCII, at most 8192 characters, no userinfo, query or fragment. */
export const artifactUrl = z.custom<string>((value) => isPlainHttpsUrl(value), {
  error: "must be an absolute https URL in ASCII, of at most 8192 characters, without userinfo, query or fragment",
  abort: true,
});

/** WB-10, WB-21. */
export const artifactDigest = z.custom<Sha256Hex>(isSha256Hex, {
  error: "must be a SHA-256 digest: 64 lowercase hexadecimal digits without a prefix",
  abort: true,
});

/** WB-8, WB-11. */
const schema = z.strictObject({ artifact: z.strictObject({ url: artifactUrl, sha256: artifactDigest }) });

/** Throws Refusal(`invalid_spec`). */
export function parseWorkerBundle(spec: Json): WorkerBundleSpec {
  return readSpec(schema, spec);
}
