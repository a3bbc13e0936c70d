// The private inputs of accepted Operations: a transfer value that lives shortly and executes, and comparison
// material that lives as long as the Operation can be replayed (HA-133, HA-138). The two are never stored together.
import type { OperationId } from "../../base/ids.ts";
import type { ControlStore } from "../control/control-store.ts";
import type { InputReason } from "../control/records.ts";
import type { Sealer } from "./sealer.ts";
import { decodeSecrets, encodeSecrets, type SecretMap } from "./secret-map.ts";

export type HeldInputs =
  | { readonly type: "held"; readonly values: SecretMap }
  | { readonly type: "lost"; readonly reason: InputReason };

export class HeldInputStore {
  readonly #store: ControlStore;
  readonly #sealer: Sealer;

  constructor(store: ControlStore, sealer: Sealer) {
    this.#store = store;
    this.#sealer = sealer;
  }

  /** Seal the original map. Call it inside the transaction that accepts the Operation. */
  accept(operationId: OperationId, values: SecretMap, expiresAtMs: number): void {
    const material = this.#sealer.material(encodeSecrets(values), operationId);
    this.#store.privateInputs.putComparison({ operationId, keyId: material.keyId, mac: material.bytes });
    this.renew(operationId, values, expiresAtMs);
  }

  /** Seal the transfer value again. Call it inside a transaction. */
  renew(operationId: OperationId, values: SecretMap, expiresAtMs: number): void {
    const sealed = this.#sealer.seal(encodeSecrets(values), operationId);
    this.#store.privateInputs.putTransfer({ operationId, keyId: sealed.keyId, sealed: sealed.bytes, expiresAtMs });
  }

  /** The values to execute with at `nowMs`, or why they are gone (HA-108). */
  transfer(operationId: OperationId, nowMs: number): HeldInputs {
    const row = this.#store.privateInputs.transfer(operationId);
    if (row === null || row.expiresAtMs <= nowMs) return { type: "lost", reason: "expired" };
    const plain = this.#sealer.unseal({ keyId: row.keyId, bytes: row.sealed }, operationId);
    if (plain === null) return { type: "lost", reason: "unavailable" };
    return { type: "held", values: decodeSecrets(plain) };
  }

  /** Operations whose private inputs can no longer be compared, because they were sealed under another key. */
  countUnverifiable(): number {
    return this.#store.privateInputs.countForeign(this.#sealer.keyId);
  }

  /** Whether a repeated request can still be compared with the original (HA-134). */
  comparable(operationId: OperationId): boolean {
    const row = this.#store.privateInputs.comparison(operationId);
    return row !== null && this.#sealer.canCompare({ keyId: row.keyId, bytes: row.mac });
  }

  /** Compare a whole map with the original one (HA-136). */
  compare(operationId: OperationId, values: SecretMap): "equal" | "different" | "unknown" {
    const row = this.#store.privateInputs.comparison(operationId);
    if (row === null) return "unknown";
    return this.#sealer.matches({ keyId: row.keyId, bytes: row.mac }, encodeSecrets(values), operationId);
  }

  /** The Operation has settled: nothing will execute with the values again. Call it inside a transaction. */
  release(operationId: OperationId): void {
    this.#store.privateInputs.dropTransfer(operationId);
  }
}
