// WorkerVersion 0.5.0: a frozen snapshot of what one Worker may run.
//
//   WV.1 A Version becomes Ready only after its module graph was evaluated in a throw-away cell and exports exactly the
//        declared handlers (WV-20, WV-52). Nothing but records changes on the way, so a failure has effect `none`.
//   WV.2 Secret values enter the vault once, with the create, and are never replaced (WV-47, WV-48).
import type { Clock } from "../../../base/clock.ts";
import { AtollError } from "../../../base/errors.ts";
import type { Json, JsonObject } from "../../../base/json.ts";
import type { Logger } from "../../../base/log.ts";
import type { InspectReport, ModuleGraph, WorkerRuntime } from "../../../runtime/workers/worker-runtime.ts";
import { requireOffered } from "../attachments.ts";
import {
  type Admission,
  type ControlView,
  type FormAdapter,
  type Observation,
  type Outcome,
  type Reference,
  Refusal,
  type SecretVault,
  type Step,
  type Subject,
} from "../form.ts";
import { MODULE_WORKER, WORKER_BUNDLE, WORKER_VERSION } from "../form-urls.ts";
import { retireVersions } from "../retirement.ts";
import { sameJson } from "../same-json.ts";
import { find, requireTarget, requireUnreferenced } from "../standing.ts";
import { countTry, nextDelayMs, triesOf } from "../tries.ts";
import { bundleStanding, graphOf } from "../worker-bundle/observation.ts";
import { BINDING_KINDS } from "./binding-kinds.ts";
import { readVersionNotes, writeVersionNotes } from "./offer.ts";
import { requireOriginalSecrets } from "./secrets.ts";
import { bindingsOf, parseWorkerVersion, type WorkerVersionSpec } from "./spec.ts";
import { custodyOf, type Fault, faultOfCustody, faultOfExports, observeVersion } from "./verification.ts";

export interface WorkerVersionDeps {
  readonly runtime: WorkerRuntime;
  readonly vault: SecretVault;
  readonly clock: Clock;
  readonly log: Logger;
}

/** How soon to look again for a bundle whose Operation has not finished. */
const BUNDLE_POLL_MS = 250;
const RETIRE_RETRY_MS = 1000;

export class WorkerVersionForm implements FormAdapter<WorkerVersionSpec> {
  readonly form = WORKER_VERSION;
  readonly privateInputs = true;
  readonly #deps: WorkerVersionDeps;

  constructor(deps: WorkerVersionDeps) {
    this.#deps = deps;
  }

  parse(spec: Json): WorkerVersionSpec {
    return parseWorkerVersion(spec);
  }

  /** WV-44. */
  privateInputNames(spec: WorkerVersionSpec): readonly string[] {
    return spec.requiredSensitiveVars;
  }

  /** WV-5 … WV-17. */
  references(spec: WorkerVersionSpec): readonly Reference[] {
    const targets: Reference[] = [{ field: "spec.worker", uid: spec.worker, form: MODULE_WORKER }];
    if (spec.bundle !== null) targets.push({ field: "spec.bundle", uid: spec.bundle, form: WORKER_BUNDLE });
    for (const { field, binding } of bindingsOf(spec)) {
      const form = BINDING_KINDS[field].target;
      targets.push({ field: `spec.${field} ${binding.name}`, uid: binding.target, form });
    }
    return targets;
  }

  admitCreate(view: ControlView, subject: Admission<WorkerVersionSpec>): void {
    const { spec } = subject;
    for (const { field, uid, form } of this.references(spec)) {
      const target = requireTarget(view, field, uid as typeof spec.worker, form);
      // WV-A5: a bundle in progress is waited for, one that is known to have failed is not.
      if (form === WORKER_BUNDLE && bundleStanding(target) === "broken") {
        throw new Refusal("dependency_conflict", `${field} names a WorkerBundle whose verification failed.`);
      }
    }
    requireReachableServices(view, spec);
  }

  /** WV-46, WV-47, WV-90. */
  admitUpdate(
    view: ControlView,
    current: Subject<WorkerVersionSpec>,
    next: WorkerVersionSpec,
    privateInputs: Readonly<Record<string, string>> | null,
  ): void {
    if (!sameJson(asJson(current.spec), asJson(next))) {
      throw new Refusal("invalid_spec", "spec cannot change; create a new WorkerVersion and weight it instead.");
    }
    if (privateInputs !== null) {
      requireOriginalSecrets(this.#deps.vault, current.resource.uid, next.requiredSensitiveVars, privateInputs);
    }
    requireReachableServices(view, next);
  }

  /** WV-91: neither weighted, nor about to be, nor running anywhere. */
  admitDelete(view: ControlView, current: Subject<WorkerVersionSpec>): void {
    requireUnreferenced(view, current.resource);
    if (this.#deps.runtime.contextsOf(current.resource.uid) > 0) {
      const message =
        "Invocations of this WorkerVersion have not ended; they are cancelled 15 minutes after the switch.";
      throw new Refusal("dependency_conflict", message);
    }
  }

  initial(): { readonly observed: JsonObject; readonly output: JsonObject } {
    return { observed: {}, output: {} };
  }

  async execute(step: Step<WorkerVersionSpec>): Promise<Outcome> {
    if (step.action === "delete") return this.#remove(step);
    if (step.action === "create") await this.#keepSecrets(step);
    // Nothing but the vault takes the values, so when it has none, none was ever sent there (HA-109).
    if (step.action === "create" && step.privateInputsLost !== null && !this.#custody(step).secretsHeld) {
      return { type: "input_required" };
    }
    return this.#verify(step);
  }

  /** A create may need many attempts, and the values are written with the first of them only. */
  async #keepSecrets({ resource, privateInputs }: Step<WorkerVersionSpec>): Promise<void> {
    if (privateInputs === null || Object.keys(privateInputs).length === 0) return;
    if (this.#deps.vault.compare(resource.uid, privateInputs) === "equal") return;
    await this.#deps.vault.keep(resource.uid, privateInputs);
  }

  /** WV-48, WV-55: what the Version needs may go, and come back. */
  observe(subject: Subject<WorkerVersionSpec>, view: ControlView): Observation | null {
    const { resource, spec } = subject;
    if (Object.keys(resource.observed).length === 0) return null;
    const custody = custodyOf(view, this.#deps.vault, resource.uid, spec);
    const observed = observeVersion(spec, custody, readVersionNotes(resource.backend) !== null);
    return sameJson(observed, resource.observed) ? null : { observed };
  }

  async #verify(step: Step<WorkerVersionSpec>): Promise<Outcome> {
    const { spec, view } = step;
    const bundle = spec.bundle === null ? null : find(view, spec.bundle, WORKER_BUNDLE);
    if (bundle !== null && bundleStanding(bundle) === "pending") {
      const message = "Waits for the WorkerBundle to be verified.";
      return { type: "unresolved", effect: "none", retryAfterMs: BUNDLE_POLL_MS, code: "bundle_pending", message };
    }
    const missing = faultOfCustody(spec, this.#custody(step));
    if (missing !== null) return this.#failed(step, missing, step.resource.backend);
    const graph = bundle === null ? null : graphOf(bundle);
    const inspection = graph === null ? NO_CODE : await this.#inspect(step, graph);
    if ("type" in inspection) return inspection;
    // Looked at again, because the inspection took its time.
    const fault = faultOfExports(spec, inspection) ?? faultOfCustody(spec, this.#custody(step));
    if (fault !== null) return this.#failed(step, fault, null);
    return {
      type: "succeeded",
      observed: observeVersion(spec, this.#custody(step), true),
      output: {},
      backend: writeVersionNotes({ classes: inspection.ok ? inspection.classes : [] }),
    };
  }

  /** The report, or what becomes of the Operation when the Host itself could not inspect. */
  async #inspect(step: Step<WorkerVersionSpec>, graph: ModuleGraph): Promise<InspectReport | Outcome> {
    try {
      return await this.#deps.runtime.inspect(graph);
    } catch (error) {
      this.#deps.log.warn("a Version could not be inspected", { version: step.resource.uid, error });
      const lost = error instanceof AtollError && error.code === "artifact_unreachable";
      const fault: Fault = lost ? BYTES_LOST : INSPECTION_UNAVAILABLE;
      const retryAfterMs = nextDelayMs(triesOf(step));
      if (retryAfterMs !== null) {
        step.note(countTry(step), "none");
        return { type: "unresolved", effect: "none", retryAfterMs, ...fault };
      }
      // That the Host could not look is no news about the Version: what was confirmed before stays (HA-169).
      return lost ? this.#failed(step, fault, null) : { type: "failed", effect: "none", ...fault };
    }
  }

  /** A Version that was observed before must not go on looking Ready (WV-48); an unobserved one stays so. */
  #failed(step: Step<WorkerVersionSpec>, fault: Fault, backend: JsonObject | null): Outcome {
    const { resource, spec } = step;
    const failed = { type: "failed", effect: "none", ...fault, backend } as const;
    if (Object.keys(resource.observed).length === 0) return failed;
    return { ...failed, observed: observeVersion(spec, this.#custody(step), readVersionNotes(backend) !== null) };
  }

  #custody(step: Step<WorkerVersionSpec>): ReturnType<typeof custodyOf> {
    return custodyOf(step.view, this.#deps.vault, step.resource.uid, step.spec);
  }

  /** WV-92: this record and what the Host keeps to run it, nothing else. */
  async #remove(step: Step<WorkerVersionSpec>): Promise<Outcome> {
    const { uid } = step.resource;
    const retired = await retireVersions(this.#deps, [uid]);
    if (!retired.has(uid)) {
      const message = "Waits for proof that no code of the Version can run.";
      const code = "retirement_pending";
      return { type: "unresolved", effect: "unknown", retryAfterMs: RETIRE_RETRY_MS, code, message };
    }
    await this.#deps.vault.forget(uid);
    return { type: "succeeded", observed: {}, output: {}, backend: null };
  }
}

const BYTES_LOST: Fault = {
  code: "artifact_unreachable",
  message: "Bytes of the WorkerBundle are not held; verify it by an update of it.",
};

const INSPECTION_UNAVAILABLE: Fault = {
  code: "inspection_unavailable",
  message: "The Host could not inspect the module graph; try again later.",
};

/** A Version without a bundle has nothing to inspect (WV-27). */
const NO_CODE: InspectReport = { ok: true, handlers: [], classes: [] };

/** WD-22, WD-A9: the far side of a service Binding must answer HTTP, as far as it is deployed. */
function requireReachableServices(view: ControlView, spec: WorkerVersionSpec): void {
  for (const { target } of spec.bindings.serviceBindings) requireOffered(view, target, { kind: "http" });
}

function asJson(spec: WorkerVersionSpec): Json {
  return spec as unknown as Json;
}
