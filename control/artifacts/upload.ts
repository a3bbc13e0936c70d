import type { Sha256Hex, SpaceName } from "../../base/ids.ts";

/** Takes artifact bytes from people who may write in a Space. Answered by the artifact store. */
export interface ArtifactUpload {
  /**
   * Take the bytes of `sha256` from `body`, verify them while they stream, keep them durably, and let `spaces` use
   * them. `created` is false when the bytes were held already; then `body` need not be read, and the grants are added
   * all the same. Rejects with `artifact_digest_mismatch`, or with `artifact_limit_exceeded` as soon as more than
   * ARTIFACT_BYTES_MAX octets arrive; then nothing is kept.
   */
  put(
    sha256: Sha256Hex,
    body: ReadableStream<Uint8Array>,
    grant: { readonly spaces: readonly SpaceName[] },
  ): Promise<{ readonly created: boolean; readonly byteSize: number }>;
  /** The size of a held artifact that one of `spaces` may use; null when there is none. Null `spaces` means any. */
  find(sha256: Sha256Hex, spaces: readonly SpaceName[] | null): Promise<{ readonly byteSize: number } | null>;
}
