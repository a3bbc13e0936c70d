// One attempt at an Operation: get its private inputs, let the Form execute, write down what came of it.
//
//   T1. Before a Form runs, the store says so; a crash afterwards finds an attempt without a result and goes to
//       `reconciling` (HA-102), never to an invented end (HA-107).
//   T2. What a Form throws is no outcome: the result stays unknown and is reconciled.
//   T3. Lost private inputs are asked for again only when the step that needs them was provably never sent (HA-109):
//       either no attempt got as far as noting `unknown`, or the Form says so itself.
import type { Clock } from "../../base/clock.ts";
import { invariant } from "../../base/invariant.ts";
import type { Logger } from "../../base/log.ts";
import type { ControlStore } from "../../storage/control/control-store.ts";
import { type InputReason, isSettled, type OperationRow, type ResourceRow } from "../../storage/control/records.ts";
import type { HeldInputStore } from "../../storage/secrets/held-inputs.ts";
import type { SecretMap } from "../../storage/secrets/secret-map.ts";
import type { ControlView, FormAdapter, Outcome, Step } from "../forms/form.ts";
import type { FormRegistry } from "../forms/registry.ts";
import type { Faults } from "./faults.ts";
import type { Ledger, Written } from "./ledger.ts";

/** What is to happen next with the Operation. */
export type AttemptResult =
  | { readonly type: "again"; readonly afterMs: number | "back-off" }
  /** It has settled, or waits for somebody to replenish it or for a node that knows its Form. */
  | { readonly type: "rest" };

const LOST = {
  code: "private_inputs_unverifiable",
  message: "the private inputs of this Operation are lost and cannot be compared with new ones",
} as const;

const NO_OUTCOME = {
  code: "internal_error",
  message: "the last attempt ended without a known result; the Host compares with what is there and tries again",
} as const;

export class Attempts {
  readonly #parts: AttemptParts;

  constructor(parts: AttemptParts) {
    this.#parts = parts;
  }

  /** An earlier attempt that began and left no result may have sent something: its result is unknown (T1). */
  recover(row: OperationRow): OperationRow {
    if (row.status !== "running" || row.attempt === "idle") return row;
    const effect = row.effect === "none" ? "unknown" : row.effect;
    invariant(effect !== "complete", "a running operation is not complete");
    return this.#parts.ledger.step(row, { type: "doubt", effect, error: null });
  }

  async run(id: OperationRow["id"]): Promise<AttemptResult> {
    const { store, forms, log } = this.#parts;
    const found = store.operations.get(id);
    if (found === null || isSettled(found.status)) return { type: "rest" };
    const row = this.recover(found);
    const resource = store.resources.get(row.resourceUid);
    invariant(resource !== null, "an unfinished operation has its resource");
    const adapter = forms.find(resource.form);
    if (adapter === null) {
      log.warn("an unfinished Operation belongs to a Form that this node does not implement", { operationId: id });
      return { type: "rest" };
    }
    const inputs = this.#inputs(row);
    if (inputs.lost !== null && (row.status === "waiting_input" || row.attempt !== "dispatched")) {
      return this.#ask(row, adapter, inputs.lost);
    }
    // The values are there again, e.g. because the key came back: the wait is over without the client.
    const ready = row.status === "waiting_input" ? this.#parts.ledger.step(row, { type: "replenish" }) : row;
    return this.#execute(ready, resource, adapter, inputs);
  }

  #inputs(row: OperationRow): { readonly values: SecretMap | null; readonly lost: InputReason | null } {
    if (row.inputNames === null) return { values: null, lost: null };
    const held = this.#parts.inputs.transfer(row.id, this.#parts.clock.nowMs());
    return held.type === "held" ? { values: held.values, lost: null } : { values: null, lost: held.reason };
  }

  async #execute(
    begun: OperationRow,
    resource: ResourceRow,
    adapter: FormAdapter,
    inputs: { readonly values: SecretMap | null; readonly lost: InputReason | null },
  ): Promise<AttemptResult> {
    const { ledger, faults, log, view } = this.#parts;
    let row = ledger.begin(begun);
    let open = true;
    faults("before-execute", row.id);
    const execute = async (): Promise<Outcome> => {
      const step: Step<unknown> = {
        resource,
        spec: adapter.parse(resource.spec),
        action: row.action,
        operationId: row.id,
        view,
        privateInputs: inputs.values,
        privateInputsLost: inputs.lost,
        resumed: row.status === "reconciling",
        note: (backend, effect) => {
          invariant(open, "a step notes only while it executes");
          row = ledger.note(row, adapter, backend, effect);
        },
      };
      return adapter.execute(step);
    };
    let outcome: Outcome;
    try {
      outcome = await execute();
    } catch (error) {
      log.error("an attempt at an Operation ended without an outcome", { operationId: row.id, error });
      const effect = row.effect === "partial" ? "partial" : "unknown";
      ledger.step(row, { type: "doubt", effect, error: NO_OUTCOME });
      return { type: "again", afterMs: "back-off" };
    } finally {
      open = false;
    }
    faults("after-execute-before-settle", row.id);
    return this.#record(row, adapter, outcome, inputs.lost);
  }

  #record(row: OperationRow, adapter: FormAdapter, outcome: Outcome, lost: InputReason | null): AttemptResult {
    const { ledger } = this.#parts;
    switch (outcome.type) {
      case "succeeded":
        return this.#settled(row, ledger.succeed(row, adapter, outcome));
      case "failed":
        return this.#settled(row, ledger.fail(row, adapter, outcome));
      case "input_required":
        invariant(lost !== null, "a Form asks only for private inputs that are lost");
        return this.#ask({ ...row, attempt: "started" }, adapter, lost);
      case "unresolved":
        break;
    }
    const { effect, code, message, retryAfterMs } = outcome;
    if (effect === "unknown") ledger.step(row, { type: "doubt", effect, error: { code, message } }, "dispatched");
    else if (row.status === "reconciling") ledger.step(row, { type: "resume", effect }, "idle");
    else ledger.step(row, { type: "note", effect }, "idle");
    return { type: "again", afterMs: retryAfterMs };
  }

  /**
   * The step was never sent. Wait for the original values while they can be compared (HA-134); else end as `failed`,
   * walking the legal chain one durable step at a time (HA-139, HA-A5).
   */
  #ask(row: OperationRow, adapter: FormAdapter, reason: InputReason): AttemptResult {
    const { ledger, inputs } = this.#parts;
    const comparable = inputs.comparable(row.id);
    if (row.status === "waiting_input" && comparable) return { type: "rest" };
    const effect = row.effect === "partial" ? "partial" : "none";
    let at = row;
    if (comparable) {
      if (at.status === "reconciling") at = ledger.step(at, { type: "resume", effect });
      if (at.status === "running" && at.effect === "unknown") at = ledger.step(at, { type: "note", effect });
      ledger.step(at, { type: "need_input", reason }, "idle");
      return { type: "rest" };
    }
    if (at.status === "waiting_input") at = ledger.step(at, { type: "replenish" });
    if (at.status === "queued") at = ledger.step(at, { type: "begin" });
    return this.#settled(at, ledger.fail(at, adapter, { effect, ...LOST }));
  }

  #settled(row: OperationRow, written: Written): AttemptResult {
    this.#parts.faults("after-settle", row.id);
    this.#parts.settled(written);
    return { type: "rest" };
  }
}

interface AttemptParts {
  readonly store: ControlStore;
  readonly forms: FormRegistry;
  readonly view: ControlView;
  readonly ledger: Ledger;
  readonly inputs: HeldInputStore;
  readonly clock: Clock;
  readonly log: Logger;
  readonly faults: Faults;
  /** Called in the same turn of the event loop as the commit that settled an Operation (F3). */
  readonly settled: (written: Written) => void;
}
