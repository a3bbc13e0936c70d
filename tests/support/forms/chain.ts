// Short ways to the usual Resources of a FormWorld.
import type { ResourceUid } from "../../../base/ids.ts";
import type { Json, JsonObject } from "../../../base/json.ts";
import {
  MODULE_WORKER,
  WORKER_BUNDLE,
  WORKER_DEPLOYMENT,
  WORKER_ENDPOINT,
  WORKER_VERSION,
} from "../../../control/forms/form-urls.ts";
import type { HandlerName } from "../../../runtime/workers/worker-runtime.ts";
import type { FormWorld, Settled } from "./form-world.ts";

export const ref = (uid: string): { resourceUid: string } => ({ resourceUid: uid });

export async function newWorker(world: FormWorld): Promise<ResourceUid> {
  return succeeded(await world.create(MODULE_WORKER, {}));
}

/** A verified bundle of one module at `entrypoint`, whose inspection reports `handlers`. */
export async function newBundle(
  world: FormWorld,
  entrypoint = "main.js",
  handlers: readonly HandlerName[] = ["fetch"],
): Promise<ResourceUid> {
  world.runtime.reports.set(entrypoint, { ok: true, handlers, classes: [] });
  const artifact = world.artifacts.publishBundle([{ path: entrypoint, content: `// ${entrypoint}` }]);
  return succeeded(await world.create(WORKER_BUNDLE, { artifact }));
}

/** A Ready Version of `worker` with a bundle of its own. */
export async function newVersion(
  world: FormWorld,
  worker: ResourceUid,
  handlers: readonly HandlerName[] = ["fetch"],
  more: JsonObject = {},
): Promise<ResourceUid> {
  const bundle = await newBundle(world, `${handlers.join("-") || "none"}.js`, handlers);
  return succeeded(await world.create(WORKER_VERSION, versionSpec(worker, bundle, { handlers, ...more })));
}

export function versionSpec(worker: string, bundle: string, more: JsonObject = {}): JsonObject {
  return { worker: ref(worker), bundle: ref(bundle), handlers: ["fetch"], ...more };
}

export function deploymentSpec(worker: string, weights: Readonly<Record<string, number>>): JsonObject {
  const versions = Object.entries(weights).map(([uid, weight]) => ({ workerVersion: ref(uid), weight }));
  return { worker: ref(worker), versions };
}

export async function newDeployment(
  world: FormWorld,
  worker: ResourceUid,
  weights: Readonly<Record<string, number>>,
): Promise<ResourceUid> {
  return succeeded(await world.create(WORKER_DEPLOYMENT, deploymentSpec(worker, weights)));
}

export function endpointSpec(worker: string): Json {
  return { worker: ref(worker) };
}

export async function newEndpoint(world: FormWorld, worker: ResourceUid): Promise<ResourceUid> {
  return succeeded(await world.create(WORKER_ENDPOINT, endpointSpec(worker)));
}

export function succeeded({ uid, outcome }: Settled): ResourceUid {
  if (outcome.type !== "succeeded") throw new Error(`expected success: ${JSON.stringify(outcome)}`);
  return uid;
}

/** `failed none artifact_digest_mismatch`. */
export function verdict({ outcome }: Settled): string {
  return outcome.type === "failed" ? `failed ${outcome.effect} ${outcome.code}` : outcome.type;
}
