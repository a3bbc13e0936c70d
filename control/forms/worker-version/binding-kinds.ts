// The seven kinds of Bindings a WorkerVersion may declare. The grammar of all of them is checked; the ones that this
// Host can also provide have `provide`.
import type { FormUrl, ResourceUid } from "../../../base/ids.ts";
import type { BindingSpec } from "../../../runtime/workers/worker-runtime.ts";
import type { ControlView } from "../form.ts";
import {
  ACTOR_NAMESPACE,
  AT_LEAST_ONCE_QUEUE,
  DURABLE_WORKFLOW,
  EDGE_KV_NAMESPACE,
  MODULE_WORKER,
  OBJECT_BUCKET,
  SQLITE_DATABASE,
} from "../form-urls.ts";
import { find } from "../standing.ts";

export const BINDING_FIELDS = [
  "kvBindings",
  "sqliteBindings",
  "bucketBindings",
  "queueProducerBindings",
  "serviceBindings",
  "actorBindings",
  "workflowBindings",
] as const;

export type BindingField = (typeof BINDING_FIELDS)[number];

export interface Binding {
  readonly name: string;
  readonly target: ResourceUid;
}

export interface BindingKind {
  /** The Form of every target (WV-11 … WV-17). */
  readonly target: FormUrl;
  /** How messages call the kind. */
  readonly label: string;
  /** What a cell needs in order to offer the Binding; null when it cannot be resolved (WV-55). Absent: not supported. */
  readonly provide?: (view: ControlView, binding: Binding) => BindingSpec | null;
}

export const BINDING_KINDS: Readonly<Record<BindingField, BindingKind>> = {
  kvBindings: { target: EDGE_KV_NAMESPACE, label: "key-value" },
  sqliteBindings: { target: SQLITE_DATABASE, label: "SQLite" },
  bucketBindings: { target: OBJECT_BUCKET, label: "bucket" },
  queueProducerBindings: { target: AT_LEAST_ONCE_QUEUE, label: "queue producer" },
  serviceBindings: {
    target: MODULE_WORKER,
    label: "service",
    // The target Worker alone suffices: without a Deployment its calls answer `backend_unavailable` (MW-A8).
    provide: (view, { name, target }) =>
      find(view, target, MODULE_WORKER) === null ? null : { kind: "service", name, workerUid: target },
  },
  actorBindings: { target: ACTOR_NAMESPACE, label: "actor" },
  workflowBindings: { target: DURABLE_WORKFLOW, label: "workflow" },
};
