// WorkerEndpoint 0.3.0: one Host-assigned https address of a Worker.
//
//   WE.1 The address is derived from the uid at acceptance and read from the record ever after: no retry, restart or
//        change of the configured domain gives a uid another one (WE-9, WE-14, WE-31).
//   WE.2 The record is the route: `project` sets it after every settled Operation and at start, and an accepted delete
//        closes it for good (WE-28, WE-31).
//   WE.3 Observed members come from a check of the address as a client meets it; what was not checked is left out
//        (WE-17, WE-18).
import type { Clock } from "../../../base/clock.ts";
import type { ResourceUid } from "../../../base/ids.ts";
import { invariant } from "../../../base/invariant.ts";
import type { Json, JsonObject } from "../../../base/json.ts";
import type { Logger } from "../../../base/log.ts";
import type { RouteProbe, WorkerRuntime } from "../../../runtime/workers/worker-runtime.ts";
import { requireOffered } from "../attachments.ts";
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
import { MODULE_WORKER, WORKER_ENDPOINT } from "../form-urls.ts";
import { sameJson } from "../same-json.ts";
import { find, requireTarget } from "../standing.ts";
import { countTry, nextDelayMs, triesOf } from "../tries.ts";
import { deploymentOf, isActive, isSelecting } from "../worker-deployment/distribution.ts";
import { endpointHostname } from "./hostname.ts";
import { parseWorkerEndpoint, type WorkerEndpointSpec } from "./spec.ts";

export interface WorkerEndpointDeps {
  readonly runtime: WorkerRuntime;
  readonly clock: Clock;
  readonly log: Logger;
  /** Lowercase DNS name under which addresses are assigned. */
  readonly endpointDomain: string;
}

export class WorkerEndpointForm implements FormAdapter<WorkerEndpointSpec> {
  readonly form = WORKER_ENDPOINT;
  readonly privateInputs = false;
  readonly #deps: WorkerEndpointDeps;

  constructor(deps: WorkerEndpointDeps) {
    this.#deps = deps;
  }

  parse(spec: Json): WorkerEndpointSpec {
    return parseWorkerEndpoint(spec);
  }

  privateInputNames(): readonly string[] {
    return [];
  }

  /** WE-5. */
  references(spec: WorkerEndpointSpec): readonly Reference[] {
    return [{ field: "spec.worker", uid: spec.worker, form: MODULE_WORKER }];
  }

  /** WE-23, WE-24, WE-A1 … WE-A3. */
  admitCreate(view: ControlView, subject: Admission<WorkerEndpointSpec>): void {
    const { worker } = subject.spec;
    requireTarget(view, "spec.worker", worker, MODULE_WORKER);
    if (view.referrersOf(worker).some((it) => it.form === WORKER_ENDPOINT)) {
      throw new Refusal("dependency_conflict", "The Worker has a WorkerEndpoint already; use that one, or delete it.");
    }
    requireHttpAnswer(view, worker);
  }

  /** WE-4, WE-27. */
  admitUpdate(view: ControlView, current: Subject<WorkerEndpointSpec>, next: WorkerEndpointSpec): void {
    if (next.worker !== current.spec.worker) {
      throw new Refusal("invalid_spec", "spec.worker cannot change; delete this WorkerEndpoint and create another.");
    }
    requireHttpAnswer(view, next.worker);
  }

  admitDelete(): void {}

  initial(view: ControlView, uid: ResourceUid, spec: WorkerEndpointSpec): { observed: JsonObject; output: JsonObject } {
    const worker = find(view, spec.worker, MODULE_WORKER);
    const hostname = endpointHostname(uid, worker?.name ?? "", this.#deps.endpointDomain);
    return { observed: {}, output: { hostname, url: `https://${hostname}/` } };
  }

  async execute(step: Step<WorkerEndpointSpec>): Promise<Outcome> {
    const hostname = hostnameOf(step.resource);
    if (step.action === "delete") {
      this.#deps.runtime.setHostname(hostname, null);
      return { type: "succeeded", observed: {}, backend: null };
    }
    this.#deps.runtime.setHostname(hostname, step.spec.worker);
    const probe = await this.#probe(hostname);
    const fault = faultOfRoute(step.view, step.spec, probe);
    if (fault === null) return { type: "succeeded", observed: observeRoute(probe), backend: null };
    const retryAfterMs = nextDelayMs(triesOf(step));
    if (retryAfterMs !== null) {
      step.note(countTry(step), "partial");
      return { type: "unresolved", effect: "partial", retryAfterMs, ...fault };
    }
    // WE-30, WE-33: the route stays with this uid, for an update to finish or a delete to remove.
    return { type: "failed", effect: "partial", ...fault, observed: observeRoute(probe) };
  }

  project(_uid: ResourceUid, record: ResourceRecord | null, last: ResourceRecord | null): void {
    const known = record ?? last;
    if (known === null) return;
    const worker = record === null || record.phase === "deleting" ? null : this.parse(record.spec).worker;
    this.#deps.runtime.setHostname(hostnameOf(known), worker);
  }

  /** WE-A5: what the records say at once, and a check of the address right after. */
  observe(subject: Subject<WorkerEndpointSpec>, view: ControlView): Observation | null {
    const { resource, spec } = subject;
    const shown = resource.observed["activeDeploymentRouteReady"];
    if (shown === undefined || resource.phase === "deleting") return null;
    const deployment = deploymentOf(view, spec.worker);
    const activeDeploymentRouteReady = deployment !== null && isSelecting(deployment);
    if (activeDeploymentRouteReady === shown) return null;
    return {
      observed: { ...resource.observed, activeDeploymentRouteReady },
      wakeAtMs: this.#deps.clock.nowMs(),
    };
  }

  async wake(subject: Subject<WorkerEndpointSpec>): Promise<Observation | null> {
    const { resource } = subject;
    const probe = await this.#probe(hostnameOf(resource));
    const observed = observeRoute(probe);
    return sameJson(observed, resource.observed) ? null : { observed };
  }

  /** A check that could not be made confirms nothing (HA-169). */
  async #probe(hostname: string): Promise<RouteProbe> {
    try {
      return await this.#deps.runtime.probe(hostname);
    } catch (error) {
      this.#deps.log.warn("an endpoint could not be checked", { hostname, error });
      return {};
    }
  }
}

/** WE-6, WE-A1. */
function requireHttpAnswer(view: ControlView, worker: ResourceUid): void {
  const deployment = deploymentOf(view, worker);
  if (deployment === null || !isActive(deployment)) {
    throw new Refusal("dependency_conflict", "The Worker has no active WorkerDeployment; create one first.");
  }
  requireOffered(view, worker, { kind: "http" });
}

function observeRoute(probe: RouteProbe): JsonObject {
  const { tlsReady, activeDeploymentRouteReady } = probe;
  return {
    ...(tlsReady !== undefined && { tlsReady }),
    ...(activeDeploymentRouteReady !== undefined && { activeDeploymentRouteReady }),
  };
}

/**
 * WE-20: success means that TLS and the route are configured. TLS that ends in front of the Host is not the Host's to
 * configure (WE-A7), and a Worker that lost its Deployment meanwhile has nothing to route to (WE-A5).
 */
function faultOfRoute(
  view: ControlView,
  spec: WorkerEndpointSpec,
  probe: RouteProbe,
): { readonly code: string; readonly message: string } | null {
  if (probe.tlsReady === false) return { code: "tls_not_ready", message: "TLS is not ready for the assigned address." };
  const deployment = deploymentOf(view, spec.worker);
  const routable = deployment !== null && isSelecting(deployment);
  if (routable && probe.activeDeploymentRouteReady !== true) {
    return { code: "route_not_ready", message: "The route of the assigned address is not confirmed." };
  }
  return null;
}

function hostnameOf(endpoint: ResourceRecord): string {
  const hostname = endpoint.output["hostname"];
  invariant(typeof hostname === "string", "an endpoint has an address from its acceptance on");
  return hostname;
}
