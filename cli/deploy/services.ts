// Service bindings name Workers for people; the Host knows them by uid (WV-7).
import { MODULE_WORKER } from "../../control/forms/form-urls.ts";
import { ApiError } from "../client/api-error.ts";
import type { HostClient } from "../client/host-client.ts";
import type { Resource } from "../client/host-types.ts";

/** A binding and the Worker behind it; null when the Space has no such Worker. */
export interface FoundService {
  readonly binding: string;
  readonly worker: string;
  readonly resource: Resource | null;
}

export async function findServices(
  client: HostClient,
  space: string,
  services: Readonly<Record<string, string>>,
): Promise<readonly FoundService[]> {
  return await Promise.all(
    Object.entries(services).map(async ([binding, worker]) => {
      const found = await client.named(space, worker);
      return { binding, worker, resource: found?.form === MODULE_WORKER ? found : null };
    }),
  );
}

/** Uids by binding name. Throws an ApiError that names the Worker to deploy first. */
export function uidsOf(services: readonly FoundService[], space: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    services.map(({ binding, worker, resource }) => {
      if (resource !== null) return [binding, resource.uid];
      throw new ApiError("missing_service", `the service binding ${binding} needs the Worker ${worker}`, {
        hint: `deploy ${worker} into the Space ${space} first, or correct services.${binding}`,
      });
    }),
  );
}
