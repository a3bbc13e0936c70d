// Takes a Worker down in the order in which its parts depend on each other (WD-53). Each run looks at what is left, so
// one that was cut off anywhere is finished by the next.
import {
  MODULE_WORKER,
  WORKER_BUNDLE,
  WORKER_DEPLOYMENT,
  WORKER_ENDPOINT,
  WORKER_VERSION,
} from "../../control/forms/form-urls.ts";
import { ApiError } from "../client/api-error.ts";
import type { HostClient } from "../client/host-client.ts";
import type { Resource } from "../client/host-types.ts";
import { shortFormName } from "../form-names.ts";
import { namesOf } from "./names.ts";
import { ours } from "./leftovers.ts";
import { remove } from "./remove.ts";
import { referenceAt, type Target } from "./target.ts";

/** Entrances, then what selects, then what it selects from, then the identity. */
const ORDER: readonly string[] = [WORKER_ENDPOINT, WORKER_DEPLOYMENT, WORKER_VERSION, WORKER_BUNDLE, MODULE_WORKER];

/**
 * Everything that belongs to the Worker, in the order in which it has to go; empty when there is nothing. Rejects with
 * an ApiError when something that is not this Worker's needs it, before anything is removed.
 */
export async function partsOf(client: HostClient, space: string, name: string): Promise<readonly Resource[]> {
  const names = namesOf(name);
  const target: Target = { client, space, names, say: () => {} };
  const worker = await workerAt(client, space, name);
  const parts = new Map<string, Resource>();
  const versions: Resource[] = [];
  for await (const resource of client.resources({ space })) {
    if (resource.form === WORKER_VERSION) versions.push(resource);
    if (worker === null || referenceAt(resource.spec, "worker") !== worker.uid) continue;
    if (!ORDER.includes(resource.form)) throw stillNeeded(name, resource);
    parts.set(resource.uid, resource);
  }
  if (worker !== null) {
    parts.set(worker.uid, worker);
    const bound = versions.find((version) => !parts.has(version.uid) && isBoundTo(version, worker.uid));
    if (bound !== undefined) throw stillNeeded(name, bound);
  }
  const needed = new Set(
    versions.filter(({ uid }) => !parts.has(uid)).map((version) => referenceAt(version.spec, "bundle")),
  );
  for (const bundle of await ours(target, WORKER_BUNDLE, names.bundlePrefix)) {
    if (!needed.has(bundle.uid)) parts.set(bundle.uid, bundle);
  }
  return [...parts.values()].sort((a, b) => ORDER.indexOf(a.form) - ORDER.indexOf(b.form));
}

/** @param say progress, for people */
export async function destroy(
  client: HostClient,
  parts: readonly Resource[],
  say: (line: string) => void,
): Promise<void> {
  for (const [i, part] of parts.entries()) {
    say(`deleting ${i + 1}/${parts.length} ${shortFormName(part.form)} ${part.name}`);
    await remove(client, part);
  }
}

async function workerAt(client: HostClient, space: string, name: string): Promise<Resource | null> {
  const found = await client.named(space, name);
  if (found === null || found.form === MODULE_WORKER) return found;
  throw new ApiError("not_found", `${name} in Space ${space} is no Worker`, { hint: "name the Worker with --name" });
}

function isBoundTo({ spec }: Resource, workerUid: string): boolean {
  const { serviceBindings } = spec;
  return (
    Array.isArray(serviceBindings) &&
    serviceBindings.some((binding: unknown) => referenceAt(binding, "resource") === workerUid)
  );
}

function stillNeeded(name: string, by: Resource): ApiError {
  const what = `${shortFormName(by.form)} ${by.name}`;
  return new ApiError("dependency_conflict", `${name} is needed by ${what}`, {
    hint: "nothing was removed; take that down first",
  });
}
