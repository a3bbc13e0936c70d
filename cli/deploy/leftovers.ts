// What earlier deployments of the same name left behind. The last few versions stay, so that one can go back to them.
import { WORKER_BUNDLE, WORKER_VERSION } from "../../control/forms/form-urls.ts";
import { ApiError, UnreachableError } from "../client/api-error.ts";
import type { Resource } from "../client/host-types.ts";
import { referenceAt, type Target } from "./target.ts";

/** Versions that stay beside those in use, unless somebody says otherwise. */
export const VERSIONS_KEPT = 5;
/** A removal that takes longer goes on by itself, in milliseconds. */
const REMOVAL_MS_MAX = 10_000;

/**
 * Best effort: what is still needed, or cannot be removed now, stays for the next time. Rejects only with what is no
 * answer of the node's.
 *
 * @param inUse uids of Versions and bundles that stay
 * @param kept how many other Versions stay, the latest ones
 */
export async function removeLeftovers(
  target: Target,
  workerUid: string,
  inUse: readonly string[],
  kept = VERSIONS_KEPT,
): Promise<void> {
  try {
    const used = new Set(inUse);
    const versions = await ours(target, WORKER_VERSION, target.names.versionPrefix);
    const removed = new Set<string>();
    for (const version of oldVersions(versions, workerUid, used, kept)) {
      if (await remove(target, version)) removed.add(version.uid);
    }

    const needed = new Set(
      versions.filter(({ uid }) => !removed.has(uid)).map((version) => referenceAt(version.spec, "bundle")),
    );
    for (const bundle of await ours(target, WORKER_BUNDLE, target.names.bundlePrefix)) {
      if (isSettled(bundle) && !used.has(bundle.uid) && !needed.has(bundle.uid)) await remove(target, bundle);
    }
  } catch (error) {
    if (!(error instanceof ApiError) && !(error instanceof UnreachableError)) throw error;
    target.say(`old versions could not be looked through: ${error.message}`);
  }
}

/** Versions of the Worker that nobody needs any more, the oldest last. */
export function oldVersions(
  versions: readonly Resource[],
  workerUid: string,
  used: ReadonlySet<string>,
  kept = VERSIONS_KEPT,
): readonly Resource[] {
  return versions
    .filter((version) => isSettled(version) && !used.has(version.uid))
    .filter((version) => referenceAt(version.spec, "worker") === workerUid)
    .sort((a, b) => (b.observedAt ?? "").localeCompare(a.observedAt ?? ""))
    .slice(kept);
}

/** The bundles or Versions of this Worker, by their names. */
export async function ours({ client, space }: Target, form: string, prefix: string): Promise<Resource[]> {
  const found: Resource[] = [];
  for await (const resource of client.resources({ space, form })) {
    // Exactly our own naming: `a-b-…` must not take what belongs to a Worker called `a-b-c`.
    const isOurs = resource.name.startsWith(prefix) && /^[0-9a-f]{12}$/.test(resource.name.slice(prefix.length));
    if (isOurs) found.push(resource);
  }
  return found;
}

function isSettled({ phase }: Resource): boolean {
  return phase === "idle" || phase === "error";
}

/** Whether it is gone now. */
async function remove({ client, say }: Target, resource: Resource): Promise<boolean> {
  try {
    await client.settled(await client.delete(resource), REMOVAL_MS_MAX);
    say(`removed ${resource.name}`);
    return true;
  } catch (error) {
    if (error instanceof ApiError) return false;
    throw error;
  }
}
