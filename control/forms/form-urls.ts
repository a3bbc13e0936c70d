// The exact URLs of the Forms that name each other (HA-23: identity is equality of the whole string).
import type { FormUrl } from "../../base/ids.ts";

const edge = (name: string): FormUrl => `https://edge.forms.takoform.com/forms/${name}/` as FormUrl;

export const MODULE_WORKER = edge("ModuleWorker/0.3.0");
export const WORKER_BUNDLE = edge("WorkerBundle/0.2.0");
export const WORKER_VERSION = edge("WorkerVersion/0.5.0");
export const WORKER_DEPLOYMENT = edge("WorkerDeployment/0.4.0");
export const WORKER_ENDPOINT = edge("WorkerEndpoint/0.3.0");
export const STATIC_ASSET_BUNDLE = edge("StaticAssetBundle/0.2.0");
export const EDGE_KV_NAMESPACE = edge("EdgeKVNamespace/0.2.0");
export const SQLITE_DATABASE = edge("SQLiteDatabase/0.2.0");
export const OBJECT_BUCKET = edge("ObjectBucket/0.2.0");
export const AT_LEAST_ONCE_QUEUE = edge("AtLeastOnceQueue/0.2.0");
export const ACTOR_NAMESPACE = edge("ActorNamespace/0.3.0");
export const DURABLE_WORKFLOW = edge("DurableWorkflow/0.3.0");
