// What the control store keeps, as plain values. The rooms above give these words their meaning.
import type { FormUrl, OperationId, PrincipalId, ResourceUid, SpaceName } from "../../base/ids.ts";
import type { JsonObject } from "../../base/json.ts";

export type ResourcePhase = "pending" | "idle" | "deleting" | "error";
export type OperationAction = "create" | "update" | "delete";
export type OperationStatus = "queued" | "running" | "waiting_input" | "reconciling" | "succeeded" | "failed";
export type Effect = "none" | "unknown" | "partial" | "complete";
export type InputReason = "expired" | "unavailable";

/**
 * How far the latest attempt is known to have gone. `started` from its begin until its result is recorded, so a crash
 * leaves the trace; `dispatched` once the Form has noted that a result may get lost; `idle` between attempts.
 */
export type Attempt = "idle" | "started" | "dispatched";
/**
 * Why one Resource counts as using another: its accepted spec, an earlier spec that a successful update has not
 * replaced yet, or what the Form's bookkeeping still uses.
 */
export type ReferenceKind = "spec" | "previous" | "active";

export interface ResourceRow {
  readonly uid: ResourceUid;
  readonly form: FormUrl;
  readonly space: SpaceName;
  readonly name: string;
  readonly owner: PrincipalId;
  readonly generation: number;
  readonly observedGeneration: number;
  readonly observedAtMs: number | null;
  readonly phase: ResourcePhase;
  readonly spec: JsonObject;
  readonly observed: JsonObject;
  readonly output: JsonObject;
  readonly lastOperation: OperationId;
  /** The Form's own bookkeeping; never public. */
  readonly backend: JsonObject | null;
  /** When the Form wants to look at this Resource again, in Unix milliseconds. */
  readonly wakeAtMs: number | null;
}

export interface OperationRow {
  readonly id: OperationId;
  readonly resourceUid: ResourceUid;
  /** Kept with the Operation: it decides who may read it after its Resource has gone. */
  readonly space: SpaceName;
  readonly principal: PrincipalId;
  readonly action: OperationAction;
  readonly generation: number;
  readonly status: OperationStatus;
  readonly effect: Effect;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly retainUntilMs: number;
  /** The replay window promised at acceptance (HA-43). */
  readonly windowMs: number;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
  readonly inputReason: InputReason | null;
  /** Names of the private inputs of the original request; null when it carried none. */
  readonly inputNames: readonly string[] | null;
  readonly attempt: Attempt;
}

/** Terminal Operations never change again (HA-103, HA-104). */
export function isSettled(status: OperationStatus): status is "succeeded" | "failed" {
  return status === "succeeded" || status === "failed";
}

export interface IdempotencyRow {
  /** Each version of the API has keys of its own (HA-128). */
  readonly api: string;
  readonly principal: PrincipalId;
  readonly key: string;
  readonly operationId: OperationId;
  /** A digest of the whole request except the values of private inputs (HA-115). */
  readonly fingerprint: Uint8Array;
}

/** What is left of a deleted Resource: enough to authorize a replay and to answer `gone`. */
export interface TombstoneRow {
  readonly uid: ResourceUid;
  readonly space: SpaceName;
  readonly deletedAtMs: number;
}

/** Bytes sealed under the Host's key. `keyId` names the key, so that the loss of one is told from damage. */
export interface SealedBytes {
  readonly keyId: string;
  readonly bytes: Uint8Array;
}

export interface PrincipalRow {
  readonly id: PrincipalId;
  readonly admin: boolean;
  readonly createdAtMs: number;
}

/** What a principal may do in one Space (HA-46). */
export interface GrantRow {
  readonly principal: PrincipalId;
  readonly space: SpaceName;
  readonly read: boolean;
  readonly write: boolean;
  readonly use: boolean;
}

export interface TokenRow {
  readonly id: string;
  readonly principal: PrincipalId;
  /** SHA-256 of the secret half. The secret itself is kept nowhere. */
  readonly digest: Uint8Array;
  readonly label: string;
  readonly createdAtMs: number;
  readonly revokedAtMs: number | null;
}

export interface SpaceRow {
  readonly name: SpaceName;
  readonly createdAtMs: number;
}
