import { z } from "zod";
import type { ResourceUid } from "../../../base/ids.ts";
import type { Json } from "../../../base/json.ts";
import { readSpec, reference } from "../read-spec.ts";

export interface WorkerEndpointSpec {
  readonly worker: ResourceUid;
}

/** WE-3. */
const schema = z.strictObject({ worker: reference });

/** Throws Refusal(`invalid_spec`). */
export function parseWorkerEndpoint(spec: Json): WorkerEndpointSpec {
  return readSpec(schema, spec);
}
