import type { Sha256Hex, SpaceName } from "../../base/ids.ts";
import { ARTIFACT_BYTES_MAX } from "../../base/limits.ts";
import type { ArtifactStore } from "../../storage/artifacts/artifact-store.ts";
import type { ArtifactUpload } from "./upload.ts";

/**
 * Uploads into the artifact store. The whole body is read and compared even when the content is held: naming a digest
 * is no proof of having the bytes, and only the bytes give the right to use them (WB-57).
 */
export class StoreUpload implements ArtifactUpload {
  readonly #store: ArtifactStore;

  constructor(store: ArtifactStore) {
    this.#store = store;
  }

  async put(
    sha256: Sha256Hex,
    body: ReadableStream<Uint8Array>,
    grant: { readonly spaces: readonly SpaceName[] },
  ): Promise<{ readonly created: boolean; readonly byteSize: number }> {
    return await this.#store.put(sha256, body, { bytesMax: ARTIFACT_BYTES_MAX, spaces: grant.spaces });
  }

  async find(sha256: Sha256Hex, spaces: readonly SpaceName[] | null): Promise<{ readonly byteSize: number } | null> {
    const byteSize = this.#store.byteSize(sha256);
    if (byteSize === null) return null;
    const isUsable = spaces === null || spaces.some((space) => this.#store.mayUse(sha256, space));
    return isUsable ? { byteSize } : null;
  }
}
