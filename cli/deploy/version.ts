// The Version of a deployment. Without secrets its name is made from its spec. With secrets the spec does not tell
// everything: whether a Version has the wanted values is something only the Host may compare, privately (WV-45, WV-47).
import { WORKER_VERSION } from "../../control/forms/form-urls.ts";
import type { JsonObject } from "../../base/json.ts";
import { ApiError } from "../client/api-error.ts";
import type { Resource } from "../client/host-types.ts";
import { atRest, converge, type Converged, finish, isSurprise } from "./converge.ts";
import { versionName } from "./names.ts";
import { ours } from "./leftovers.ts";
import type { Target } from "./target.ts";
import { sameVersionSpec } from "./version-spec.ts";

/** Somebody else may deploy the same Worker at the same time. */
const SURPRISES_MAX = 5;

/** @param prefer uids to look at first: the Versions in use. */
export async function ensureVersion(
  target: Target,
  spec: JsonObject,
  secrets: Readonly<Record<string, string>>,
  prefer: readonly string[],
): Promise<Converged> {
  const { client, space, names, say } = target;
  if (Object.keys(secrets).length === 0) {
    // The name is made from the spec, so a Resource of this name and Form has it.
    const name = versionName(names, spec);
    const wanted = { form: WORKER_VERSION, space, name, spec, what: "version", isSame: () => true };
    return await converge(client, wanted, say);
  }
  for (let surprises = 0; ; surprises++) {
    try {
      const { version, names: taken } = await findVersion(target, spec, secrets, prefer);
      if (version !== null) return { resource: version, changed: false };
      const name = freeName(target, spec, taken);
      say(`creating version ${name}`);
      const input = { form: WORKER_VERSION, space, name, spec, privateInputs: secrets };
      return await finish(client, await client.create(input));
    } catch (error) {
      if (!isSurprise(error) || surprises >= SURPRISES_MAX) throw error;
    }
  }
}

export interface FoundVersion {
  /** The Version that has this spec and these secrets; null when there is none. */
  readonly version: Resource | null;
  /** Versions with this spec, whose secrets differ or cannot be compared. */
  readonly others: readonly Resource[];
  /** Names of all Versions of this Worker. */
  readonly names: ReadonlySet<string>;
}

export async function findVersion(
  target: Target,
  spec: JsonObject,
  secrets: Readonly<Record<string, string>>,
  prefer: readonly string[],
): Promise<FoundVersion> {
  const { client } = target;
  const all = await ours(target, WORKER_VERSION, target.names.versionPrefix);
  const names = new Set(all.map((version) => version.name));
  const rank = ({ uid }: Resource): number => (prefer.includes(uid) ? 0 : 1);
  const others: Resource[] = [];
  for (const candidate of all.filter((it) => sameVersionSpec(it.spec, spec)).sort((a, b) => rank(a) - rank(b))) {
    const version = await atRest(client, candidate);
    if (version?.phase === "idle" && (await holds(target, version, secrets))) return { version, others, names };
    others.push(candidate);
  }
  return { version: null, others, names };
}

/** A Host without previews is asked with the update itself, which refuses other values before it changes anything. */
async function holds(
  { client }: Target,
  version: Resource,
  secrets: Readonly<Record<string, string>>,
): Promise<boolean> {
  const answer = await client.holds(version, secrets);
  if (answer !== null) return answer;
  try {
    await finish(client, await client.update(version, version.spec, secrets));
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.code === "invalid_spec") return false;
    throw error;
  }
}

/** Numbered by revision, so that two deployments at one time meet at one name instead of passing each other by. */
function freeName({ names }: Target, spec: JsonObject, taken: ReadonlySet<string>): string {
  for (let revision = 1; ; revision++) {
    const name = versionName(names, { ...spec, revision });
    if (!taken.has(name)) return name;
  }
}
