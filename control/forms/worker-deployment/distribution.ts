// What a WorkerDeployment's record says about selection: the set that is effective, the set that an unfinished
// Operation is going to make effective, and the Versions whose last executions may still finish.
import type { ResourceUid } from "../../../base/ids.ts";
import type { JsonObject } from "../../../base/json.ts";
import type { ControlView, ResourceRecord } from "../form.ts";
import { WORKER_DEPLOYMENT } from "../form-urls.ts";
import { parseWorkerDeployment, type Weighted } from "./spec.ts";

export interface Retiring {
  readonly versionUid: ResourceUid;
  /** Unix time from which a context that is left gets cancelled (WD-41, WD-A7). */
  readonly dueMs: number;
}

/** The private notes of a Deployment, written in the commit that makes them true. */
export interface DeploymentNotes {
  /** The last activated distribution; empty before the first (WD-A4). */
  readonly active: readonly Weighted[];
  readonly retiring: readonly Retiring[];
}

export function readNotes(backend: JsonObject | null): DeploymentNotes {
  const { active, retiring } = (backend ?? {}) as { active?: readonly Weighted[]; retiring?: readonly Retiring[] };
  return { active: active ?? [], retiring: retiring ?? [] };
}

export function writeNotes(notes: DeploymentNotes): JsonObject {
  return {
    active: notes.active.map(({ versionUid, weight }) => ({ versionUid, weight })),
    retiring: notes.retiring.map(({ versionUid, dueMs }) => ({ versionUid, dueMs })),
  };
}

/** The Worker's undeleted Deployment; there is at most one (WD-13, WD-A1). */
export function deploymentOf(view: ControlView, workerUid: ResourceUid): ResourceRecord | null {
  return view.referrersOf(workerUid).find((it) => it.form === WORKER_DEPLOYMENT) ?? null;
}

/** Whether the Deployment is the source of selection for its Worker's new events (WD-32). */
export function isActive(deployment: ResourceRecord): boolean {
  return deployment.phase !== "deleting" && readNotes(deployment.backend).active.length > 0;
}

/** Whether new events are accepted now (WD-19, WD-30, WD-44). */
export function isSelecting(deployment: ResourceRecord): boolean {
  return isActive(deployment) && deployment.observed["ready"] === true;
}

/**
 * Every Version that new events may get, now or once the accepted Operation is through (WD-22, WD-24). The target of a
 * failed Operation is not among them: nothing is going to apply it.
 */
export function reachableVersions(deployment: ResourceRecord): readonly ResourceUid[] {
  if (deployment.phase === "deleting") return [];
  const weighted = [...readNotes(deployment.backend).active];
  if (deployment.phase === "pending") weighted.push(...parseWorkerDeployment(deployment.spec).versions);
  return [...new Set(weighted.map((it) => it.versionUid))];
}
