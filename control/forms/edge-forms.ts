// The Forms of this Host, composed. A new Form joins here: its adapter, and its attachment when it makes demands on
// the Versions of a Worker.
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import type { WorkerRuntime } from "../../runtime/workers/worker-runtime.ts";
import type { ArtifactAcquirer } from "../artifacts/acquirer.ts";
import { Attachments } from "./attachments.ts";
import type { FormAdapter, SecretVault } from "./form.ts";
import { ModuleWorkerForm } from "./module-worker/adapter.ts";
import { WorkerBundleForm } from "./worker-bundle/adapter.ts";
import { WorkerDeploymentForm } from "./worker-deployment/adapter.ts";
import { WorkerEndpointForm } from "./worker-endpoint/adapter.ts";
import { workerEndpointAttachment } from "./worker-endpoint/attachment.ts";
import { WorkerVersionForm } from "./worker-version/adapter.ts";
import { serviceBindingAttachment } from "./worker-version/service-attachment.ts";

export interface EdgeFormDeps {
  readonly runtime: WorkerRuntime;
  readonly artifacts: ArtifactAcquirer;
  readonly vault: SecretVault;
  readonly clock: Clock;
  readonly log: Logger;
  /** Lowercase DNS name under which endpoints get their addresses (see `isEndpointDomain`). */
  readonly endpointDomain: string;
}

/** One adapter a Form, in the order in which their Resources come to depend on each other. */
export function edgeForms(deps: EdgeFormDeps): FormAdapter[] {
  const attachments = new Attachments([workerEndpointAttachment, serviceBindingAttachment]);
  return [
    new ModuleWorkerForm(deps.runtime),
    new WorkerBundleForm(deps.artifacts),
    new WorkerVersionForm(deps),
    new WorkerDeploymentForm({ ...deps, attachments }),
    new WorkerEndpointForm(deps),
  ];
}
