// What a deployment would change on the Host, found by looking alone.
import {
  MODULE_WORKER,
  WORKER_BUNDLE,
  WORKER_DEPLOYMENT,
  WORKER_ENDPOINT,
  WORKER_VERSION,
} from "../../control/forms/form-urls.ts";
import { WEIGHT_TOTAL } from "../../base/limits.ts";
import { ApiError } from "../client/api-error.ts";
import type { HostClient } from "../client/host-client.ts";
import type { Resource } from "../client/host-types.ts";
import { type Share, sameShares, sharesOf, withShare } from "./distribution.ts";
import type { DeployInput } from "./input.ts";
import { oldVersions, ours } from "./leftovers.ts";
import { manifestOf } from "./manifest.ts";
import { bundleName, namesOf } from "./names.ts";
import { findServices, uidsOf } from "./services.ts";
import type { Target } from "./target.ts";
import { findVersion } from "./version.ts";
import { type FieldChange, versionChanges } from "./version-changes.ts";
import { versionSpecOf } from "./version-spec.ts";

export interface PlannedChange {
  /** `unknown`: values of secrets are missing here, so nobody can say whether a new Version is needed. */
  readonly action: "none" | "create" | "update" | "delete" | "unknown";
  readonly what: "Worker" | "bundle" | "version" | "deployment" | "endpoint";
  /** Null for a Version whose name the Host's answer decides. */
  readonly name: string | null;
  readonly changes: readonly FieldChange[];
}

export interface Plan {
  readonly name: string;
  readonly space: string;
  readonly changes: boolean;
  readonly steps: readonly PlannedChange[];
}

/** @param secretNames all names; `input.secrets` may lack values, and then nobody can say whether they changed */
export async function planOf(client: HostClient, input: DeployInput, secretNames: readonly string[]): Promise<Plan> {
  const { space, files, weight = WEIGHT_TOTAL } = input;
  const names = namesOf(input.name);
  const target: Target = { client, space, names, say: () => {} };
  const manifest = manifestOf(files);
  const at = async (name: string, form: string): Promise<Resource | null> => {
    const found = await client.named(space, name);
    if (found === null || found.form === form) return found;
    throw new ApiError("name_conflict", `${name} in Space ${space} is something else already`, {
      hint: "deploy under another name with --name",
    });
  };
  const [worker, bundle, deployment, endpoint, services] = await Promise.all([
    at(names.worker, MODULE_WORKER),
    at(bundleName(names, manifest.sha256), WORKER_BUNDLE),
    at(names.deployment, WORKER_DEPLOYMENT),
    at(names.endpoint, WORKER_ENDPOINT),
    findServices(client, space, input.services ?? {}),
  ]);
  const shares = sharesOf(deployment);
  const wanted = {
    worker: worker?.uid ?? "",
    bundle: bundle?.uid ?? "",
    handlers: input.handlers,
    vars: input.vars,
    secretNames,
    services: uidsOf(services, space),
  };
  const secrets = input.secrets ?? {};
  const isComplete = secretNames.every((name) => Object.hasOwn(secrets, name));
  const known = worker !== null && bundle !== null && isComplete;
  const found = known
    ? await findVersion(
        target,
        versionSpecOf(wanted),
        secrets,
        shares.map((share) => share.versionUid),
      )
    : null;
  const version = found?.version ?? null;
  const current = version === null ? await largestOf(client, shares) : null;
  const changes = version === null ? await changesFrom(client, current, input, wanted, isComplete) : [];
  const isUnknown = current !== null && !isComplete && changes.every(({ field }) => field.startsWith("secrets"));
  const selected = version ?? (isUnknown ? current : null);
  const distribution = withShare(shares, selected?.uid ?? "", weight);
  const steps = [
    standing("Worker", names.worker, worker),
    standing("bundle", bundleName(names, manifest.sha256), bundle),
    {
      action: isUnknown ? "unknown" : version === null ? "create" : "none",
      what: "version",
      name: selected?.name ?? null,
      changes,
    },
    await deploymentStep(client, names.deployment, deployment, shares, distribution),
    ...endpointStep(names.endpoint, endpoint, input),
    ...(await leftoverSteps(target, worker, distribution, selected)),
  ] satisfies PlannedChange[];
  return { name: names.worker, space, changes: steps.some((step) => step.action !== "none"), steps };
}

function standing(what: PlannedChange["what"], name: string, resource: Resource | null): PlannedChange {
  const action = resource === null ? "create" : resource.phase === "idle" ? "none" : "update";
  return { action, what, name, changes: [] };
}

/** The Version that has most of the traffic now, with which a new one is compared. */
async function largestOf(client: HostClient, shares: readonly Share[]): Promise<Resource | null> {
  const [largest] = [...shares].sort((a, b) => b.weight - a.weight);
  return largest === undefined ? null : await client.resource(largest.versionUid);
}

async function changesFrom(
  client: HostClient,
  current: Resource | null,
  input: DeployInput,
  wanted: Parameters<typeof versionSpecOf>[0],
  isComplete: boolean,
): Promise<readonly FieldChange[]> {
  const secrets = input.secrets ?? {};
  const isAskable = current !== null && isComplete && Object.keys(secrets).length > 0;
  const changes = versionChanges(
    current,
    versionSpecOf(wanted),
    isAskable ? await client.holds(current, secrets) : null,
  );
  // People know Resources by their names.
  const named = async (uid: string | null): Promise<string | null> =>
    uid === null ? null : ((await client.resource(uid))?.name ?? uid);
  return await Promise.all(
    changes.map(async ({ field, from, to }) => {
      if (field !== "code" && !field.startsWith("services.")) return { field, from, to };
      return { field, from: await named(from), to: to === "new" ? to : await named(to) };
    }),
  );
}

async function deploymentStep(
  client: HostClient,
  name: string,
  deployment: Resource | null,
  before: readonly Share[],
  after: readonly Share[],
): Promise<PlannedChange> {
  const text = async (shares: readonly Share[]): Promise<string | null> => {
    const parts = shares.map(async ({ versionUid, weight }) => {
      const version = versionUid === "" ? null : await client.resource(versionUid);
      return `${version?.name ?? "the new version"} ${weight / 100} %`;
    });
    return shares.length === 0 ? null : (await Promise.all(parts)).join(", ");
  };
  if (deployment !== null && deployment.phase === "idle" && sameShares(before, after)) {
    return { action: "none", what: "deployment", name, changes: [] };
  }
  const changes = [{ field: "versions", from: await text(before), to: await text(after) }];
  return { action: deployment === null ? "create" : "update", what: "deployment", name, changes };
}

function endpointStep(name: string, endpoint: Resource | null, input: DeployInput): PlannedChange[] {
  const wantsEndpoint = input.endpoint ?? input.handlers.includes("fetch");
  if (wantsEndpoint) return [standing("endpoint", name, endpoint)];
  if (endpoint === null || input.endpoint === undefined) return [];
  return [{ action: "delete", what: "endpoint", name, changes: [{ field: "url", from: urlOf(endpoint), to: null }] }];
}

function urlOf({ output }: Resource): string | null {
  const { url } = output;
  return typeof url === "string" ? url : null;
}

/** Versions that a deployment which changes something removes on its way out. */
async function leftoverSteps(
  target: Target,
  worker: Resource | null,
  distribution: readonly Share[],
  version: Resource | null,
): Promise<PlannedChange[]> {
  if (worker === null || version !== null) return [];
  const versions = await ours(target, WORKER_VERSION, target.names.versionPrefix);
  const used = new Set(distribution.map((share) => share.versionUid));
  return oldVersions(versions, worker.uid, used).map(({ name }) => ({
    action: "delete",
    what: "version",
    name,
    changes: [],
  }));
}
