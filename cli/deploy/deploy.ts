// The chain of Resources that makes a Worker answer: Worker → Bundle → Version → Deployment → Endpoint.
//
// Each step looks first and changes only what differs, so deploying the same thing twice makes no Operation, and a
// deployment that was cut off anywhere is finished by the next one.
import {
  MODULE_WORKER,
  WORKER_BUNDLE,
  WORKER_DEPLOYMENT,
  WORKER_ENDPOINT,
  WORKER_VERSION,
} from "../../control/forms/form-urls.ts";
import { isJsonObject, type Json } from "../../base/json.ts";
import { WEIGHT_TOTAL } from "../../base/limits.ts";
import type { HandlerName } from "../../runtime/workers/worker-runtime.ts";
import { ApiError } from "../client/api-error.ts";
import type { HostClient } from "../client/host-client.ts";
import type { Resource } from "../client/host-types.ts";
import type { OperatorClient } from "../client/operator-client.ts";
import { converge, type Converged } from "./converge.ts";
import { artifactUrl, type Manifest, manifestOf } from "./manifest.ts";
import { bundleName, namesOf, versionName } from "./names.ts";
import { removeLeftovers } from "./leftovers.ts";
import { referenceAt, type Target } from "./target.ts";
import { uploadFiles } from "./upload.ts";
import type { WorkerFiles } from "./worker-files.ts";

export interface DeployInput {
  readonly name: string;
  readonly space: string;
  readonly files: WorkerFiles;
  readonly handlers: readonly HandlerName[];
  readonly vars: Readonly<Record<string, Json>>;
}

export interface DeployParts {
  readonly client: HostClient;
  readonly operator: OperatorClient;
  /** Progress, for people. */
  readonly say: (line: string) => void;
}

/** What `atoll deploy --json` prints. */
export interface Deployed {
  readonly name: string;
  readonly space: string;
  readonly url: string;
  readonly hostname: string;
  readonly workerUid: string;
  readonly bundleUid: string;
  readonly versionUid: string;
  readonly deploymentUid: string;
  readonly endpointUid: string;
  /** False when everything was as wanted already. */
  readonly changed: boolean;
}

/** Rejects with ApiError, UnreachableError or UsageError. */
export async function deploy(parts: DeployParts, input: DeployInput): Promise<Deployed> {
  const { client, say } = parts;
  const { space, files } = input;
  const names = namesOf(input.name);
  const manifest = manifestOf(files);
  const target = { space, say, client, names };

  const [worker, bundle] = await Promise.all([ensureWorker(target), ensureBundle(parts, target, files, manifest)]);
  const version = await ensureVersion(target, worker.resource, bundle.resource, input);
  const deployment = await ensureDeployment(target, worker.resource, version.resource);
  const endpoint = await ensureEndpoint(target, worker.resource);
  const changed = [worker, bundle, version, deployment, endpoint].some((step) => step.changed);
  if (changed) await removeLeftovers(target, worker.resource, [bundle.resource, version.resource]);

  const { url, hostname } = endpoint.resource.output;
  if (typeof url !== "string" || typeof hostname !== "string") {
    throw new ApiError(
      "invalid_answer",
      "the endpoint has no address, which the Host API promises from the first moment",
    );
  }
  return {
    name: names.worker,
    space,
    url,
    hostname,
    workerUid: worker.resource.uid,
    bundleUid: bundle.resource.uid,
    versionUid: version.resource.uid,
    deploymentUid: deployment.resource.uid,
    endpointUid: endpoint.resource.uid,
    changed,
  };
}

function ensureWorker({ client, space, names, say }: Target): Promise<Converged> {
  const what = "Worker";
  return converge(client, { form: MODULE_WORKER, space, name: names.worker, spec: {}, what, isSame: () => true }, say);
}

async function ensureBundle(
  parts: DeployParts,
  { client, space, names, say }: Target,
  files: WorkerFiles,
  manifest: Manifest,
): Promise<Converged> {
  const { sha256 } = manifest;
  const artifact = { url: artifactUrl(sha256), sha256 };
  const wanted = {
    form: WORKER_BUNDLE,
    space,
    name: bundleName(names, sha256),
    spec: { artifact },
    what: "bundle",
    isSame: ({ spec }: Resource) => isJsonObject(spec["artifact"]) && spec["artifact"]["sha256"] === sha256,
  };
  const present = await client.named(space, wanted.name);
  if (present?.phase !== "idle") await uploadFiles(parts.operator, files, manifest, { space, say, again: false });
  try {
    return await converge(client, wanted, say);
  } catch (error) {
    // Bytes that another Space uploaded are there, but not for this one; sending them again makes them so.
    if (!(error instanceof ApiError) || !error.code.startsWith("artifact_")) throw error;
    await uploadFiles(parts.operator, files, manifest, { space, say, again: true });
    return await converge(client, wanted, say);
  }
}

function ensureVersion(
  { client, space, names, say }: Target,
  worker: Resource,
  bundle: Resource,
  input: DeployInput,
): Promise<Converged> {
  const spec = {
    worker: { resourceUid: worker.uid },
    bundle: { resourceUid: bundle.uid },
    handlers: input.handlers.toSorted(),
    ...(Object.keys(input.vars).length === 0 ? {} : { vars: input.vars }),
  };
  // The name is made from the spec, so a Resource of this name and Form has it.
  const name = versionName(names, spec);
  return converge(client, { form: WORKER_VERSION, space, name, spec, what: "version", isSame: () => true }, say);
}

function ensureDeployment(
  { client, space, names, say }: Target,
  worker: Resource,
  version: Resource,
): Promise<Converged> {
  const spec = {
    worker: { resourceUid: worker.uid },
    versions: [{ workerVersion: { resourceUid: version.uid }, weight: WEIGHT_TOTAL }],
  };
  const isSame = (current: Resource): boolean => {
    const { versions } = current.spec;
    return (
      Array.isArray(versions) && versions.length === 1 && referenceAt(versions[0], "workerVersion") === version.uid
    );
  };
  return converge(
    client,
    { form: WORKER_DEPLOYMENT, space, name: names.deployment, spec, what: "deployment", isSame },
    say,
  );
}

function ensureEndpoint({ client, space, names, say }: Target, worker: Resource): Promise<Converged> {
  const spec = { worker: { resourceUid: worker.uid } };
  const isSame = (current: Resource): boolean => referenceAt(current.spec, "worker") === worker.uid;
  return converge(client, { form: WORKER_ENDPOINT, space, name: names.endpoint, spec, what: "endpoint", isSame }, say);
}
