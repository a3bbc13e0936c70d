import { ApiError } from "../client/api-error.ts";
import type { HostClient } from "../client/host-client.ts";
import type { Resource } from "../client/host-types.ts";
import { atRest, isSurprise } from "./converge.ts";

/** Somebody else may change the same Resource at the same time. */
const SURPRISES_MAX = 5;

/**
 * Delete a Resource and wait until it is gone. A deletion that is under way already is waited for, and one that failed
 * is asked for again, so a removal that was cut off is finished by the next one. Rejects with ApiError.
 */
export async function remove(client: HostClient, resource: Resource): Promise<void> {
  let current: Resource | null = resource;
  for (let surprises = 0; current !== null; surprises++) {
    try {
      current = await atRest(client, current);
      if (current === null) return;
      await client.settled(await client.delete(current));
      return;
    } catch (error) {
      if (!isGone(error) && (!isSurprise(error) || surprises >= SURPRISES_MAX)) throw error;
      current = await client.resource(resource.uid);
    }
  }
}

function isGone(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 404 || error.status === 410);
}
