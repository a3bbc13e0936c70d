// The chain of Resources that makes a Worker answer: Worker → Bundle → Version → Deployment → Endpoint.
//
// Each step looks first and changes only what differs, so deploying the same thing twice makes no Operation, and a
// deployment that was cut off anywhere is finished by the next one.
import { MODULE_WORKER, WORKER_BUNDLE, WORKER_DEPLOYMENT, WORKER_ENDPOINT } from "../../control/forms/form-urls.ts";
import { isJsonObject } from "../../base/json.ts";
import { WEIGHT_TOTAL } from "../../base/limits.ts";
import { ApiError } from "../client/api-error.ts";
import type { HostClient } from "../client/host-client.ts";
import type { Resource } from "../client/host-types.ts";
import type { OperatorClient } from "../client/operator-client.ts";
import { converge, type Converged } from "./converge.ts";
import { type Share, sameShares, sharesOf, withShare } from "./distribution.ts";
import type { DeployInput } from "./input.ts";
import { artifactUrl, type Manifest, manifestOf } from "./manifest.ts";
import { bundleName, namesOf } from "./names.ts";
import { removeLeftovers } from "./leftovers.ts";
import { remove } from "./remove.ts";
import { findServices, uidsOf } from "./services.ts";
import { referenceAt, type Target } from "./target.ts";
import { uploadFiles } from "./upload.ts";
import { ensureVersion } from "./version.ts";
import { versionSpecOf } from "./version-spec.ts";
import type { WorkerFiles } from "./worker-files.ts";

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
  /** Null without an endpoint. */
  readonly url: string | null;
  readonly hostname: string | null;
  readonly workerUid: string;
  readonly bundleUid: string;
  readonly versionUid: string;
  readonly versionName: string;
  readonly deploymentUid: string;
  readonly endpointUid: string | null;
  /** What each Version gets of the traffic, in basis points. */
  readonly weights: Readonly<Record<string, number>>;
  /** False when everything was as wanted already. */
  readonly changed: boolean;
}

/** Rejects with ApiError, UnreachableError or UsageError. */
export async function deploy(parts: DeployParts, input: DeployInput): Promise<Deployed> {
  const deployed = await bringUp(parts, input);
  if (deployed.changed) await cleanUp(parts, deployed);
  return deployed;
}

/** The chain alone: what earlier deployments left behind stays. */
export async function bringUp(parts: DeployParts, input: DeployInput): Promise<Deployed> {
  const { client, say } = parts;
  const { space, files, secrets = {}, services = {}, weight = WEIGHT_TOTAL } = input;
  const names = namesOf(input.name);
  const manifest = manifestOf(files);
  const target = { space, say, client, names };

  const [worker, bundle, found, before] = await Promise.all([
    ensureWorker(target),
    ensureBundle(parts, target, files, manifest),
    findServices(client, space, services),
    client.named(space, names.deployment),
  ]);
  const shares = sharesOf(before);
  const spec = versionSpecOf({
    worker: worker.resource.uid,
    bundle: bundle.resource.uid,
    handlers: input.handlers,
    vars: input.vars,
    secretNames: Object.keys(secrets),
    services: uidsOf(found, space),
  });
  const inUse = shares.map((share) => share.versionUid);
  const version = await ensureVersion(target, spec, secrets, inUse);
  const wantsEndpoint = input.endpoint ?? input.handlers.includes("fetch");
  // An address goes before a Version comes that could not answer there (WD-20).
  const withdrawn = input.endpoint === false && (await withdrawEndpoint(target));
  const distribution = withShare(shares, version.resource.uid, weight);
  const deployment = await ensureDeployment(target, worker.resource, distribution);
  const endpoint = wantsEndpoint ? await ensureEndpoint(target, worker.resource) : null;
  const changed = withdrawn || [worker, bundle, version, deployment, endpoint].some((step) => step?.changed === true);
  return {
    name: names.worker,
    space,
    ...(endpoint === null ? { url: null, hostname: null } : addressOf(endpoint.resource)),
    workerUid: worker.resource.uid,
    bundleUid: bundle.resource.uid,
    versionUid: version.resource.uid,
    versionName: version.resource.name,
    deploymentUid: deployment.resource.uid,
    endpointUid: endpoint?.resource.uid ?? null,
    weights: Object.fromEntries(distribution.map((share) => [share.versionUid, share.weight])),
    changed,
  };
}

/** Remove Versions and bundles that nobody needs any more, but for the last `kept` Versions. */
export async function cleanUp({ client, say }: DeployParts, deployed: Deployed, kept?: number): Promise<void> {
  const { name, space, workerUid, bundleUid, weights } = deployed;
  const target = { space, say, client, names: namesOf(name) };
  await removeLeftovers(target, workerUid, [bundleUid, ...Object.keys(weights)], kept);
}

function addressOf({ output }: Resource): { readonly url: string; readonly hostname: string } {
  const { url, hostname } = output;
  if (typeof url === "string" && typeof hostname === "string") return { url, hostname };
  throw new ApiError(
    "invalid_answer",
    "the endpoint has no address, which the Host API promises from the first moment",
  );
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

function ensureDeployment(
  { client, space, names, say }: Target,
  worker: Resource,
  shares: readonly Share[],
): Promise<Converged> {
  const spec = {
    worker: { resourceUid: worker.uid },
    versions: shares.map(({ versionUid, weight }) => ({ workerVersion: { resourceUid: versionUid }, weight })),
  };
  const isSame = (current: Resource): boolean =>
    referenceAt(current.spec, "worker") === worker.uid && sameShares(sharesOf(current), shares);
  return converge(
    client,
    { form: WORKER_DEPLOYMENT, space, name: names.deployment, spec, what: "deployment", isSame },
    say,
  );
}

/** Whether there was one to take down. */
async function withdrawEndpoint({ client, space, names, say }: Target): Promise<boolean> {
  const endpoint = await client.named(space, names.endpoint);
  if (endpoint?.form !== WORKER_ENDPOINT) return false;
  say(`deleting endpoint ${names.endpoint}`);
  await remove(client, endpoint);
  return true;
}

function ensureEndpoint({ client, space, names, say }: Target, worker: Resource): Promise<Converged> {
  const spec = { worker: { resourceUid: worker.uid } };
  const isSame = (current: Resource): boolean => referenceAt(current.spec, "worker") === worker.uid;
  return converge(client, { form: WORKER_ENDPOINT, space, name: names.endpoint, spec, what: "endpoint", isSame }, say);
}
