// Getting hold of artifact bytes: from the store when the Space may use what is there, else from the source (WB-25).
import type { ResourceUid, Sha256Hex } from "../../base/ids.ts";
import type { ArtifactStore } from "../../storage/artifacts/artifact-store.ts";
import { diskFaults } from "../../storage/disk/disk-fault.ts";
import type { AcquireRequest, ArtifactAcquirer } from "./acquirer.ts";
import { ArtifactSource, type ArtifactSourceOptions } from "./artifact-source.ts";

export class HeldOrFetchedAcquirer implements ArtifactAcquirer {
  readonly #store: ArtifactStore;
  readonly #source: ArtifactSource;

  constructor(options: { readonly store: ArtifactStore } & ArtifactSourceOptions) {
    this.#store = options.store;
    this.#source = new ArtifactSource(options);
  }

  async acquire(request: AcquireRequest): Promise<{ readonly byteSize: number }> {
    const { url, sha256, bytesMax, space, owner } = request;
    const pin = { owner, space };
    const held = await this.#store.pinHeld(sha256, pin, bytesMax);
    if (held !== null) return { byteSize: held };
    // Held for somebody else is like not held: the source must give the bytes to this Space too (WB-57).
    const { byteSize } = await this.#source.fetch(url, bytesMax, (body) => {
      return this.#store.put(sha256, body, { bytesMax, pin });
    });
    return { byteSize };
  }

  async read(sha256: Sha256Hex): Promise<Uint8Array> {
    return await this.#store.read(sha256);
  }

  async holds(sha256: Sha256Hex, owner: ResourceUid): Promise<boolean> {
    return await this.#store.holds(sha256, owner);
  }

  async release(owner: ResourceUid): Promise<void> {
    await diskFaults(async () => this.#store.release(owner));
  }
}
