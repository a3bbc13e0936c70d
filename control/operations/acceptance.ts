// Acceptance: from a request to a durable Operation, or to the Operation that the same request became before.
//
//   P1. Key, Operation, Resource, references and sealed inputs become durable in one transaction (HA-78, HA-121).
//   P2. Nothing is awaited between the first check and the commit, so concurrent copies of a key have one winner.
//   P3. The order of checks is HA-A1; a refusal consumes no key (HA-A2).
import type { Clock } from "../../base/clock.ts";
import { AtollError } from "../../base/errors.ts";
import type { OperationId, ResourceUid } from "../../base/ids.ts";
import { invariant } from "../../base/invariant.ts";
import { newId, type Random } from "../../base/random.ts";
import type { ControlStore } from "../../storage/control/control-store.ts";
import type { IdempotencyRow, OperationRow, ResourceRow } from "../../storage/control/records.ts";
import type { HeldInputStore } from "../../storage/secrets/held-inputs.ts";
import type { SecretMap } from "../../storage/secrets/secret-map.ts";
import type { ControlView } from "../forms/form.ts";
import type { Caller } from "../principals/caller.ts";
import type { Admission, Admitted, Target } from "./admission.ts";
import type { Change, Mutation, MutationRequest } from "./mutation.ts";
import { unverifiable } from "./operation-refusal.ts";

/** The key scope of this API version (HA-114, HA-128). */
const API = "v2";

export class Acceptance {
  readonly #parts: AcceptanceParts;

  constructor(parts: AcceptanceParts) {
    this.#parts = parts;
  }

  /**
   * The Operation this request stands for: a new one, or the current state of the one it became before. Throws an
   * AtollError for every refusal; then nothing was accepted.
   */
  accept(caller: Caller, request: MutationRequest): { readonly operation: OperationRow; readonly fresh: boolean } {
    const { admission, store } = this.#parts;
    const target = admission.authorize(caller, request.mutation);
    const bound = store.operations.byKey(API, caller.principal, request.key);
    if (bound !== null) return { operation: this.#replay(bound, request), fresh: false };
    this.#requireRoom();
    const admitted = admission.admit(caller, request.mutation, target);
    return { operation: this.#register(caller, request, admitted, target), fresh: true };
  }

  /** HA-118, HA-119. Presence of private inputs is part of the fingerprint; their values are compared privately. */
  #replay(bound: IdempotencyRow, request: MutationRequest): OperationRow {
    const operation = this.#parts.store.operations.get(bound.operationId);
    invariant(operation !== null, "a bound key has its operation");
    if (!Buffer.from(bound.fingerprint).equals(request.fingerprint)) throw conflict();
    const values = privateInputsOf(request.mutation);
    if (values !== null) {
      const verdict = this.#parts.inputs.compare(operation.id, values);
      if (verdict === "different") throw conflict();
      if (verdict === "unknown") throw unverifiable(operation.id);
    }
    return operation;
  }

  #requireRoom(): void {
    if (this.#parts.store.operations.countUnfinished() >= this.#parts.unfinishedMax) {
      throw new AtollError("rate_limited", "too many Operations are unfinished", {
        hint: "Try again when some of them have settled.",
      });
    }
  }

  #register(caller: Caller, request: MutationRequest, admitted: Admitted, target: Target): OperationRow {
    const { store, clock, random, windowMs } = this.#parts;
    const { mutation } = request;
    const nowMs = clock.nowMs();
    const values = privateInputsOf(mutation);
    const operationId = newId(random, "op-") as OperationId;
    const resource =
      mutation.action === "create"
        ? this.#created(caller, mutation, admitted, operationId)
        : advanced(requireCurrent(admitted), mutation, operationId);
    const operation: OperationRow = {
      id: operationId,
      resourceUid: resource.uid,
      space: target.space,
      principal: caller.principal,
      action: mutation.action,
      generation: resource.generation,
      status: "queued",
      effect: "none",
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
      retainUntilMs: nowMs + windowMs,
      windowMs,
      errorCode: null,
      errorMessage: null,
      inputReason: null,
      inputNames: values === null ? null : Object.keys(values).sort(),
      attempt: "idle",
    };
    const { key, fingerprint } = request;
    store.write(() => {
      store.operations.put(operation);
      store.operations.bindKey({ api: API, principal: caller.principal, key, operationId, fingerprint });
      store.resources.put(resource);
      if (mutation.action === "update") store.resources.retainReferences(resource.uid);
      if (mutation.action !== "delete") store.resources.setReferences(resource.uid, "spec", admitted.references);
      if (values !== null) this.#parts.inputs.accept(operationId, values, nowMs + this.#parts.transferLifetimeMs);
    });
    return operation;
  }

  /** HA-78, HA-80. */
  #created(
    caller: Caller,
    create: Extract<Mutation, { action: "create" }>,
    admitted: Admitted,
    lastOperation: OperationId,
  ): ResourceRow {
    const uid = newId(this.#parts.random, "r-") as ResourceUid;
    const { observed, output } = admitted.adapter.initial(this.#parts.view, uid, admitted.spec);
    return {
      uid,
      form: create.form,
      space: create.space,
      name: create.name,
      owner: caller.principal,
      generation: 1,
      observedGeneration: 0,
      observedAtMs: null,
      phase: "pending",
      spec: create.spec,
      observed,
      output,
      lastOperation,
      backend: null,
      wakeAtMs: null,
    };
  }
}

interface AcceptanceParts {
  readonly store: ControlStore;
  readonly admission: Admission;
  readonly view: ControlView;
  readonly inputs: HeldInputStore;
  readonly clock: Clock;
  readonly random: Random;
  /** The replay window promised to Operations accepted from now on, in milliseconds. */
  readonly windowMs: number;
  /** How long a sealed transfer value may be executed with, in milliseconds. */
  readonly transferLifetimeMs: number;
  readonly unfinishedMax: number;
}

function requireCurrent(admitted: Admitted): ResourceRow {
  invariant(admitted.current !== null, "a change was admitted on a resource");
  return admitted.current;
}

/** HA-70, HA-73, HA-75, HA-91: one more generation, a new phase, and nothing that was observed changes. */
function advanced(current: ResourceRow, change: Change, lastOperation: OperationId): ResourceRow {
  const generation = current.generation + 1;
  return change.action === "delete"
    ? { ...current, generation, lastOperation, phase: "deleting" }
    : { ...current, generation, lastOperation, phase: "pending", spec: change.spec };
}

function privateInputsOf(mutation: Mutation): SecretMap | null {
  return mutation.action === "delete" ? null : mutation.privateInputs;
}

function conflict(): AtollError {
  return new AtollError("idempotency_conflict", "this key was used with a different request");
}
