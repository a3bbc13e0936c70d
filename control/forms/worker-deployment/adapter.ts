// WorkerDeployment 0.4.0: which Versions a Worker's new events get, and in which proportion.
//
//   WD.1 The durable record is the switch: a distribution is effective from the commit that notes it as active, and
//        `project` shows the runtime what the record says, in the same turn and after every restart (WD-38, WD-43).
//   WD.2 A failed update changes no note, so the last activated distribution goes on (WD-A4).
//   WD.3 A dropped Version stays in the notes until its retirement is proved (WD-41 … WD-43).
//   WD.4 Selection that was closed by an accepted delete never opens again (WD-44).
import type { Clock } from "../../../base/clock.ts";
import type { ResourceUid } from "../../../base/ids.ts";
import type { Json, JsonObject } from "../../../base/json.ts";
import { RETIRE_AFTER_MS } from "../../../base/limits.ts";
import type { Logger } from "../../../base/log.ts";
import type { WorkerRuntime } from "../../../runtime/workers/worker-runtime.ts";
import type { Attachments } from "../attachments.ts";
import {
  type Admission,
  type ControlView,
  type FormAdapter,
  type Observation,
  type Outcome,
  type Reference,
  Refusal,
  type ResourceRecord,
  type Step,
  type Subject,
} from "../form.ts";
import { MODULE_WORKER, WORKER_DEPLOYMENT, WORKER_VERSION } from "../form-urls.ts";
import { retireVersions } from "../retirement.ts";
import { sameJson } from "../same-json.ts";
import { requireTarget } from "../standing.ts";
import { parseWorkerVersion } from "../worker-version/spec.ts";
import { fitnessOf } from "./conditions.ts";
import {
  type DeploymentNotes,
  deploymentOf,
  isSelecting,
  type Retiring,
  readNotes,
  writeNotes,
} from "./distribution.ts";
import { parseWorkerDeployment, type Weighted, type WorkerDeploymentSpec } from "./spec.ts";

export interface WorkerDeploymentDeps {
  readonly runtime: WorkerRuntime;
  readonly attachments: Attachments;
  readonly clock: Clock;
  readonly log: Logger;
}

/** How soon to look again for Versions whose Operations have not finished. */
const VERSION_POLL_MS = 250;
/** How soon to ask again for proof of a retirement. */
const RETIRE_RETRY_MS = 1000;

export class WorkerDeploymentForm implements FormAdapter<WorkerDeploymentSpec> {
  readonly form = WORKER_DEPLOYMENT;
  readonly privateInputs = false;
  readonly #deps: WorkerDeploymentDeps;
  /** Whose distribution the runtime shows for a Worker, so that a late farewell cannot close a successor's. */
  readonly #shown = new Map<ResourceUid, ResourceUid>();

  constructor(deps: WorkerDeploymentDeps) {
    this.#deps = deps;
  }

  parse(spec: Json): WorkerDeploymentSpec {
    return parseWorkerDeployment(spec);
  }

  privateInputNames(): readonly string[] {
    return [];
  }

  /** WD-10. */
  references(spec: WorkerDeploymentSpec): readonly Reference[] {
    return [
      { field: "spec.worker", uid: spec.worker, form: MODULE_WORKER },
      ...spec.versions.map((it) => ({ field: "spec.versions", uid: it.versionUid, form: WORKER_VERSION })),
    ];
  }

  /** WD-13, WD-A1 and the conditions of every distribution. */
  admitCreate(view: ControlView, subject: Admission<WorkerDeploymentSpec>): void {
    const { spec } = subject;
    requireTarget(view, "spec.worker", spec.worker, MODULE_WORKER);
    this.#admitVersions(view, spec);
    if (deploymentOf(view, spec.worker) !== null) {
      const message = "The Worker has a WorkerDeployment already; update that one, or delete it first.";
      throw new Refusal("dependency_conflict", message);
    }
  }

  /** WD-37. */
  admitUpdate(view: ControlView, current: Subject<WorkerDeploymentSpec>, next: WorkerDeploymentSpec): void {
    if (next.worker !== current.spec.worker) {
      throw new Refusal("invalid_spec", "spec.worker cannot change; create a WorkerDeployment for the other Worker.");
    }
    this.#admitVersions(view, next);
  }

  /** WD-49, WD-A8: nothing that is attached blocks it. */
  admitDelete(): void {}

  initial(): { readonly observed: JsonObject; readonly output: JsonObject } {
    return { observed: {}, output: {} };
  }

  /** WD-A6: what is active counts beside what is accepted. */
  activeReferences(backend: JsonObject | null): readonly Reference[] {
    return readNotes(backend).active.map(({ versionUid }) => {
      return { field: "active", uid: versionUid, form: WORKER_VERSION };
    });
  }

  async execute(step: Step<WorkerDeploymentSpec>): Promise<Outcome> {
    return step.action === "delete" ? this.#close(step) : this.#activate(step);
  }

  project(uid: ResourceUid, record: ResourceRecord | null, last: ResourceRecord | null): void {
    const known = record ?? last;
    if (known === null) return;
    const { worker } = this.parse(known.spec);
    if (record !== null && isSelecting(record)) {
      const entries = readNotes(record.backend).active;
      this.#shown.set(worker, uid);
      this.#deps.runtime.setDistribution(worker, { deploymentUid: uid, entries });
    } else if ((this.#shown.get(worker) ?? uid) === uid) {
      this.#shown.delete(worker);
      this.#deps.runtime.setDistribution(worker, null);
    }
  }

  /** WD-30: readiness may break and come back while nothing was asked of this Resource. */
  observe(subject: Subject<WorkerDeploymentSpec>, view: ControlView): Observation | null {
    const { resource, spec } = subject;
    const notes = readNotes(resource.backend);
    if (notes.active.length === 0 || resource.phase === "deleting") return null;
    const observed = this.#observe(view, spec.worker, notes.active);
    if (sameJson(observed, resource.observed)) return null;
    return { observed, ...wakeFor(notes) };
  }

  /** WD-41 … WD-43: the quarter of an hour is over for some Version. */
  async wake(subject: Subject<WorkerDeploymentSpec>, view: ControlView): Promise<Observation | null> {
    const { resource, spec } = subject;
    const notes = await this.#retireDue(readNotes(resource.backend));
    const observed = this.#observe(view, spec.worker, notes.active);
    return { observed, backend: writeNotes(notes), ...wakeFor(notes) };
  }

  /** The notes without the Versions whose time was over and whose retirement is proved now. */
  async #retireDue(notes: DeploymentNotes): Promise<DeploymentNotes> {
    const nowMs = this.#deps.clock.nowMs();
    const due = notes.retiring.filter((it) => it.dueMs <= nowMs).map((it) => it.versionUid);
    if (due.length === 0) return notes;
    const proved = await retireVersions(this.#deps, due);
    const retryMs = this.#deps.clock.nowMs() + RETIRE_RETRY_MS;
    const retiring = notes.retiring
      .filter((it) => !proved.has(it.versionUid))
      .map((it): Retiring => (due.includes(it.versionUid) ? { ...it, dueMs: retryMs } : it));
    return { active: notes.active, retiring };
  }

  /** WD-11, WD-A2, WD-A3. */
  #admitVersions(view: ControlView, spec: WorkerDeploymentSpec): void {
    for (const { versionUid } of spec.versions) {
      const version = requireTarget(view, "spec.versions", versionUid, WORKER_VERSION);
      if (parseWorkerVersion(version.spec).worker !== spec.worker) {
        throw new Refusal("invalid_spec", `spec.versions: WorkerVersion ${versionUid} belongs to another Worker.`);
      }
    }
    const fitness = this.#fitness(view, spec.worker, spec.versions);
    if (fitness.type === "unfit") throw new Refusal("dependency_conflict", fitness.message);
  }

  /** WD-34, WD-38: judged again on the newest records, then effective with the commit of this outcome. */
  async #activate(step: Step<WorkerDeploymentSpec>): Promise<Outcome> {
    const { spec, view } = step;
    const fitness = this.#fitness(view, spec.worker, spec.versions);
    if (fitness.type === "waiting") {
      // No wake comes while an Operation is unfinished, and the quarter of an hour does not wait for one (WD-41).
      const noted = readNotes(step.resource.backend);
      const kept = await this.#retireDue(noted);
      if (kept.retiring.length < noted.retiring.length) step.note(writeNotes(kept), "none");
      const { message } = fitness;
      return { type: "unresolved", effect: "none", retryAfterMs: VERSION_POLL_MS, code: "version_pending", message };
    }
    if (fitness.type === "unfit") {
      return { type: "failed", effect: "none", code: fitness.code, message: fitness.message };
    }
    const notes = switched(readNotes(step.resource.backend), spec.versions, this.#deps.clock.nowMs() + RETIRE_AFTER_MS);
    const observed = this.#observe(view, spec.worker, notes.active);
    return { type: "succeeded", observed, output: {}, backend: writeNotes(notes), ...wakeFor(notes) };
  }

  /** WD-44 … WD-46. */
  async #close(step: Step<WorkerDeploymentSpec>): Promise<Outcome> {
    const { resource, spec } = step;
    const notes = readNotes(resource.backend);
    if (notes.active.length > 0) step.note(writeNotes(notes), "partial");
    this.#deps.runtime.setDistribution(spec.worker, null);
    const versions = [...new Set([...notes.active, ...notes.retiring].map((it) => it.versionUid))];
    const proved = await retireVersions(this.#deps, versions);
    if (proved.size < versions.length) {
      const message = "Selection is closed; waits for proof that no invocation can run.";
      const code = "retirement_pending";
      return { type: "unresolved", effect: "unknown", retryAfterMs: RETIRE_RETRY_MS, code, message };
    }
    return { type: "succeeded", observed: {}, output: {}, backend: null };
  }

  #fitness(view: ControlView, worker: ResourceUid, versions: readonly Weighted[]): ReturnType<typeof fitnessOf> {
    const uids = versions.map((it) => it.versionUid);
    return fitnessOf(view, this.#deps.attachments, worker, uids);
  }

  /** WD-31 … WD-33. */
  #observe(view: ControlView, worker: ResourceUid, active: readonly Weighted[]): JsonObject {
    return {
      ready: this.#fitness(view, worker, active).type === "ready",
      active: true,
      selectedVersions: active.map(({ versionUid, weight }) => ({ resourceUid: versionUid, weight })),
    };
  }
}

/** WD-40, WD-A7: who left the set gets `dueMs`, who came back keeps its contexts, who left earlier keeps its time. */
function switched(notes: DeploymentNotes, active: readonly Weighted[], dueMs: number): DeploymentNotes {
  const stays = (uid: ResourceUid): boolean => active.some((it) => it.versionUid === uid);
  const earlier = notes.retiring.filter((it) => !stays(it.versionUid));
  const dropped = notes.active
    .filter(({ versionUid }) => !stays(versionUid) && !earlier.some((it) => it.versionUid === versionUid))
    .map(({ versionUid }): Retiring => ({ versionUid, dueMs }));
  return { active, retiring: [...earlier, ...dropped] };
}

function wakeFor(notes: DeploymentNotes): { readonly wakeAtMs?: number } {
  if (notes.retiring.length === 0) return {};
  return { wakeAtMs: Math.min(...notes.retiring.map((it) => it.dueMs)) };
}
