// Records as the Host API shows them. Only what is named here leaves: bookkeeping, owners and sealed values do not.
import { rfc3339 } from "../../base/clock.ts";
import type { OperationRow, ResourceRow } from "../../storage/control/records.ts";

/** HA-66. */
export function encodeResource(row: ResourceRow) {
  return {
    uid: row.uid,
    form: row.form,
    space: row.space,
    name: row.name,
    generation: row.generation,
    observedGeneration: row.observedGeneration,
    observedAt: row.observedAtMs === null ? null : rfc3339(row.observedAtMs),
    phase: row.phase,
    spec: row.spec,
    observed: row.observed,
    output: row.output,
    lastOperation: row.lastOperation,
  };
}

/** HA-95 … HA-108. */
export function encodeOperation(row: OperationRow) {
  return {
    id: row.id,
    resourceUid: row.resourceUid,
    action: row.action,
    generation: row.generation,
    status: row.status,
    effect: row.effect,
    createdAt: rfc3339(row.createdAtMs),
    updatedAt: rfc3339(row.updatedAtMs),
    retainUntil: rfc3339(row.retainUntilMs),
    ...(row.errorCode === null ? {} : { error: { code: row.errorCode, message: row.errorMessage } }),
    ...(row.inputReason === null ? {} : { inputRequired: { names: row.inputNames ?? [], reason: row.inputReason } }),
  };
}
