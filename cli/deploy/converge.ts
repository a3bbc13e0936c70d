// One Resource brought to what it should be, through the public Host API, whatever it is now.
import { ApiError } from "../client/api-error.ts";
import type { Accepted, HostClient } from "../client/host-client.ts";
import type { Resource } from "../client/host-types.ts";

export interface Wanted {
  readonly form: string;
  readonly space: string;
  readonly name: string;
  readonly spec: object;
  /** What kind of thing it is, for people. */
  readonly what: string;
  /** Whether the spec that the Resource has already is the wanted one. */
  isSame(current: Resource): boolean;
}

export interface Converged {
  readonly resource: Resource;
  readonly changed: boolean;
}

/** Somebody else may change the same Resource at the same time; after so many surprises it is theirs. */
const SURPRISES_MAX = 5;

/**
 * Create the Resource, update it, or leave it alone when it is as wanted and idle; then nothing is sent (no Operation
 * is made). Waits for an Operation that is running already. Rejects with ApiError.
 */
export async function converge(client: HostClient, wanted: Wanted, say: (line: string) => void): Promise<Converged> {
  for (let surprises = 0; ; surprises++) {
    try {
      return await attempt(client, wanted, say);
    } catch (error) {
      if (!isSurprise(error) || surprises >= SURPRISES_MAX) throw error;
    }
  }
}

async function attempt(client: HostClient, wanted: Wanted, say: (line: string) => void): Promise<Converged> {
  const { form, space, name, spec, what } = wanted;
  const found = await client.named(space, name);
  const current = found === null ? null : await atRest(client, found);
  if (current === null) {
    say(`creating ${what} ${name}`);
    return await finish(client, await client.create({ form, space, name, spec }));
  }
  if (current.form !== form) {
    throw new ApiError("name_conflict", `${name} in Space ${space} is something else already`, {
      hint: "deploy under another name with --name",
    });
  }
  if (current.phase === "idle" && wanted.isSame(current)) return { resource: current, changed: false };
  say(`updating ${what} ${name}`);
  return await finish(client, await client.update(current, spec));
}

/** The Resource once no Operation runs on it; null when it has been deleted meanwhile. */
export async function atRest(client: HostClient, resource: Resource): Promise<Resource | null> {
  if (resource.phase === "idle" || resource.phase === "error") return resource;
  const operation = await client.operation(resource.lastOperation);
  try {
    if (operation !== null) await client.settled({ operation, retryAfterMs: null });
  } catch (error) {
    // That it failed is no obstacle: an update of the same Resource recovers it (HA-110).
    if (!(error instanceof ApiError) || error.code === "unfinished") throw error;
  }
  return await client.resource(resource.uid);
}

/** Wait for the Operation; the Resource as it is then. */
export async function finish(client: HostClient, accepted: Accepted): Promise<Converged> {
  const { resourceUid } = await client.settled(accepted);
  const resource = await client.resource(resourceUid);
  if (resource === null) throw new ApiError("not_found", "the Resource was deleted while it was being deployed");
  return { resource, changed: true };
}

/** The Resource was not what the last look had shown. */
export function isSurprise(error: unknown): error is ApiError {
  return (
    error instanceof ApiError &&
    error.status > 0 &&
    ["name_conflict", "generation_conflict", "resource_busy"].includes(error.code)
  );
}
