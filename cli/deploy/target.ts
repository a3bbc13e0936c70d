import { isJsonObject } from "../../base/json.ts";
import type { HostClient } from "../client/host-client.ts";
import type { Names } from "./names.ts";

/** Where a Worker is deployed to, and under which names. */
export interface Target {
  readonly client: HostClient;
  readonly space: string;
  readonly names: Names;
  /** Progress, for people. */
  readonly say: (line: string) => void;
}

/** The UID of the reference `{"resourceUid": …}` that stands under `field`; null when there is none. */
export function referenceAt(object: unknown, field: string): string | null {
  const reference = isJsonObject(object) ? object[field] : undefined;
  const uid = isJsonObject(reference) ? reference["resourceUid"] : undefined;
  return typeof uid === "string" ? uid : null;
}
