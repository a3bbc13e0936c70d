// Replenishment: the original private inputs come once more, for an Operation that waits for them (HA-134 … HA-137).
import type { Clock } from "../../base/clock.ts";
import { AtollError } from "../../base/errors.ts";
import type { ControlStore } from "../../storage/control/control-store.ts";
import { isSettled, type OperationRow } from "../../storage/control/records.ts";
import type { HeldInputStore } from "../../storage/secrets/held-inputs.ts";
import type { SecretMap } from "../../storage/secrets/secret-map.ts";
import type { Caller } from "../principals/caller.ts";
import type { Ledger } from "./ledger.ts";
import { OperationRefusal, unverifiable } from "./operation-refusal.ts";

/**
 * The Operation this caller may see. Throws `not_found` also where its existence is none of the caller's business, and
 * `forbidden` where the caller knows the Space but lacks `permission` (HA-47, HA-50).
 */
export function visibleOperation(
  store: ControlStore,
  caller: Caller,
  id: string,
  permission: "read" | "write",
): OperationRow {
  const row = store.operations.get(id);
  if (row === null || !caller.knows(row.space)) throw new AtollError("not_found", "there is no such Operation");
  if (!caller.may(permission, row.space)) {
    throw new AtollError("forbidden", "you may not do this with Operations in this Space");
  }
  return row;
}

export class Replenishment {
  readonly #parts: ReplenishmentParts;

  constructor(parts: ReplenishmentParts) {
    this.#parts = parts;
  }

  /**
   * Give the whole original map again. Checks in the order of HA-136 and HA-A20: authorization, comparison, status.
   * Returns the Operation's state; only one that waits goes on, and repeating it starts nothing twice.
   */
  replenish(caller: Caller, id: string, values: SecretMap): OperationRow {
    const { store, inputs, clock } = this.#parts;
    const row = visibleOperation(store, caller, id, "write");
    const verdict = row.inputNames === null ? "different" : inputs.compare(row.id, values);
    if (verdict === "different") {
      throw new OperationRefusal("private_inputs_conflict", "these are not the original private inputs", row.id);
    }
    if (verdict === "unknown") {
      // It waits for what nobody can check any more (HA-134): let it end by the legal chain (HA-139).
      if (row.status === "waiting_input") this.#parts.enqueue(row);
      throw unverifiable(row.id);
    }
    if (isSettled(row.status)) {
      throw new OperationRefusal("operation_terminal", "the Operation has settled and needs no inputs", row.id);
    }
    if (row.status !== "waiting_input") return row;
    const queued = this.#parts.ledger.replenish(row, values, clock.nowMs() + this.#parts.transferLifetimeMs);
    this.#parts.enqueue(queued);
    return queued;
  }
}

interface ReplenishmentParts {
  readonly store: ControlStore;
  readonly inputs: HeldInputStore;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly transferLifetimeMs: number;
  readonly enqueue: (row: OperationRow) => void;
}
