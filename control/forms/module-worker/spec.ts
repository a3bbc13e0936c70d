import { z } from "zod";
import type { Json } from "../../../base/json.ts";
import { readSpec } from "../read-spec.ts";

/** MW-3: exactly `{}`. */
export type ModuleWorkerSpec = Readonly<Record<string, never>>;

const schema = z.strictObject({});

/** Throws Refusal(`invalid_spec`). */
export function parseModuleWorker(spec: Json): ModuleWorkerSpec {
  return readSpec(schema, spec);
}
