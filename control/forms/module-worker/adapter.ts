// ModuleWorker 0.3.0: the lasting identity of one Worker, and nothing else (MW-1, MW-2).
import type { Json, JsonObject } from "../../../base/json.ts";
import type { WorkerRuntime } from "../../../runtime/workers/worker-runtime.ts";
import type { ControlView, FormAdapter, Observation, Outcome, ResourceRecord, Step, Subject } from "../form.ts";
import { MODULE_WORKER } from "../form-urls.ts";
import { sameJson } from "../same-json.ts";
import { requireUnreferenced } from "../standing.ts";
import { deploymentOf, isActive, isSelecting } from "../worker-deployment/distribution.ts";
import { type ModuleWorkerSpec, parseModuleWorker } from "./spec.ts";

export class ModuleWorkerForm implements FormAdapter<ModuleWorkerSpec> {
  readonly form = MODULE_WORKER;
  readonly privateInputs = false;
  readonly #runtime: WorkerRuntime;

  constructor(runtime: WorkerRuntime) {
    this.#runtime = runtime;
  }

  parse(spec: Json): ModuleWorkerSpec {
    return parseModuleWorker(spec);
  }

  privateInputNames(): readonly string[] {
    return [];
  }

  references(): readonly [] {
    return [];
  }

  admitCreate(): void {}

  /** MW-10: there is only one spec. */
  admitUpdate(): void {}

  /** MW-11: whatever refers to the Worker, of any Form. */
  admitDelete(view: ControlView, current: Subject<ModuleWorkerSpec>): void {
    requireUnreferenced(view, current.resource);
  }

  initial(): { readonly observed: JsonObject; readonly output: JsonObject } {
    return { observed: {}, output: {} };
  }

  /**
   * MW-8, MW-12, MW-13. A Worker that nothing refers to runs nothing: each of its Versions was deleted with proof that
   * none of its code can run (WV-91).
   */
  async execute(step: Step<ModuleWorkerSpec>): Promise<Outcome> {
    const { resource, view } = step;
    if (step.action !== "delete") return { type: "succeeded", observed: observeWorker(view, resource), output: {} };
    this.#runtime.setDistribution(resource.uid, null);
    return { type: "succeeded", observed: {}, output: {}, backend: null };
  }

  /** MW-4, MW-5. */
  observe(subject: Subject<ModuleWorkerSpec>, view: ControlView): Observation | null {
    const { resource } = subject;
    if (Object.keys(resource.observed).length === 0) return null;
    const observed = observeWorker(view, resource);
    return sameJson(observed, resource.observed) ? null : { observed };
  }
}

function observeWorker(view: ControlView, worker: ResourceRecord): JsonObject {
  const deployment = deploymentOf(view, worker.uid);
  if (deployment === null || !isActive(deployment)) return { activeDeploymentUid: null, ready: false };
  return { activeDeploymentUid: deployment.uid, ready: isSelecting(deployment) };
}
