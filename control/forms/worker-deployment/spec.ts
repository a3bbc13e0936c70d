import { z } from "zod";
import type { ResourceUid } from "../../../base/ids.ts";
import type { Json } from "../../../base/json.ts";
import { DEPLOYMENT_VERSIONS_MAX, WEIGHT_TOTAL } from "../../../base/limits.ts";
import { readSpec, reference } from "../read-spec.ts";

export interface Weighted {
  readonly versionUid: ResourceUid;
  /** Basis points, 1 to 10000. */
  readonly weight: number;
}

export interface WorkerDeploymentSpec {
  readonly worker: ResourceUid;
  /** Ordered by uid: the order of the request means nothing (WD-8, WD-9). */
  readonly versions: readonly Weighted[];
}

const weighted = z
  .strictObject({ workerVersion: reference, weight: z.int().min(1).max(WEIGHT_TOTAL) })
  .transform((it): Weighted => ({ versionUid: it.workerVersion, weight: it.weight }));

/** WD-4 … WD-7. */
const schema = z.strictObject({
  worker: reference,
  versions: z
    .array(weighted)
    .min(1)
    .max(DEPLOYMENT_VERSIONS_MAX)
    .refine((all) => new Set(all.map((it) => it.versionUid)).size === all.length, {
      error: "must name each WorkerVersion only once",
    })
    .refine((all) => all.reduce((sum, it) => sum + it.weight, 0) === WEIGHT_TOTAL, {
      error: `must have weights that add up to exactly ${WEIGHT_TOTAL}`,
    }),
});

/** Throws Refusal(`invalid_spec`). Specs that select alike give equal values. */
export function parseWorkerDeployment(spec: Json): WorkerDeploymentSpec {
  const { worker, versions } = readSpec(schema, spec);
  return { worker, versions: versions.toSorted((a, b) => (a.versionUid < b.versionUid ? -1 : 1)) };
}
