// The durable secrets of Resources. Values leave only through `reveal`, to the code that executes with them.
import { AtollError } from "../../base/errors.ts";
import type { ResourceUid } from "../../base/ids.ts";
import type { ControlStore } from "../control/control-store.ts";
import type { Sealer } from "./sealer.ts";
import { decodeSecrets, encodeSecrets, type SecretMap } from "./secret-map.ts";

/** Keeps secrets in the control store, sealed. Answers the port `SecretVault` of the control room. */
export class SealedVault {
  readonly #store: ControlStore;
  readonly #sealer: Sealer;

  constructor(store: ControlStore, sealer: Sealer) {
    this.#store = store;
    this.#sealer = sealer;
  }

  /** Keep `values` durably for `uid`, replacing what was there. */
  async keep(uid: ResourceUid, values: SecretMap): Promise<void> {
    const plain = encodeSecrets(values);
    const sealed = this.#sealer.seal(plain, uid);
    const { bytes: mac } = this.#sealer.material(plain, uid);
    this.#store.write(() => {
      this.#store.privateInputs.putSecret({ uid, keyId: sealed.keyId, sealed: sealed.bytes, mac });
    });
  }

  /** The kept values; null when there are none. Rejects with `backend_unavailable` when they cannot be unsealed. */
  async reveal(uid: ResourceUid): Promise<SecretMap | null> {
    const row = this.#store.privateInputs.secret(uid);
    if (row === null) return null;
    const plain = this.#sealer.unseal({ keyId: row.keyId, bytes: row.sealed }, uid);
    if (plain === null) throw new AtollError("backend_unavailable", "the kept secrets cannot be unsealed");
    return decodeSecrets(plain);
  }

  /** Compare without revealing; `unknown` when nothing is kept or the key is another one. */
  compare(uid: ResourceUid, values: SecretMap): "equal" | "different" | "unknown" {
    const row = this.#store.privateInputs.secret(uid);
    if (row === null) return "unknown";
    // Equality that could not be executed with is no use: values that do not unseal are lost (WV-48).
    if (this.#sealer.unseal({ keyId: row.keyId, bytes: row.sealed }, uid) === null) return "unknown";
    return this.#sealer.matches({ keyId: row.keyId, bytes: row.mac }, encodeSecrets(values), uid);
  }

  async forget(uid: ResourceUid): Promise<void> {
    this.#store.write(() => this.#store.privateInputs.dropSecret(uid));
  }
}
