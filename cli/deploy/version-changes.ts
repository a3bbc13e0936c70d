import canonicalize from "canonicalize";
import { isJsonObject, type Json, type JsonObject } from "../../base/json.ts";
import type { Resource } from "../client/host-types.ts";
import { referenceAt } from "./target.ts";

/** One thing that differs; values as JSON text, references as uids, null for none. */
export interface FieldChange {
  readonly field: string;
  readonly from: string | null;
  readonly to: string | null;
}

/**
 * Field by field what a Version with `wanted` has that `current` has not. Of secrets only the names are known here.
 *
 * @param secretsEqual whether the Host has the wanted values; null when nobody can say
 */
export function versionChanges(
  current: Resource | null,
  wanted: JsonObject,
  secretsEqual: boolean | null,
): readonly FieldChange[] {
  const before = flat(current?.spec ?? {});
  const after = flat(wanted);
  const changes: FieldChange[] = [];
  for (const field of [...new Set([...before.keys(), ...after.keys()])].sort()) {
    const [from = null, to = null] = [before.get(field), after.get(field)];
    if (from !== to) changes.push({ field, from, to });
  }
  const kept = [...after.keys()].filter((field) => field.startsWith("secrets.") && before.has(field));
  if (kept.length > 0 && secretsEqual !== true) {
    const field = kept.length === 1 ? (kept[0] ?? "secrets") : "secrets";
    changes.push({ field, from: "set", to: secretsEqual === false ? "changed" : "set, perhaps to another value" });
  }
  return changes;
}

/** Every wish of a Version's spec under a name of its own. */
function flat(spec: JsonObject): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  const bundle = referenceAt(spec, "bundle");
  if (bundle !== null) fields.set("code", bundle === "" ? "new" : bundle);
  const { handlers, vars, requiredSensitiveVars: secrets, serviceBindings: services } = spec;
  if (Array.isArray(handlers)) fields.set("handlers", textOf((handlers as readonly string[]).toSorted()));
  if (isJsonObject(vars)) for (const [name, value] of Object.entries(vars)) fields.set(`vars.${name}`, textOf(value));
  if (Array.isArray(secrets))
    for (const name of secrets as readonly Json[]) if (typeof name === "string") fields.set(`secrets.${name}`, "set");
  if (Array.isArray(services)) {
    for (const service of services as readonly Json[]) {
      const name = isJsonObject(service) ? service["name"] : null;
      if (typeof name === "string") fields.set(`services.${name}`, referenceAt(service, "resource") ?? "");
    }
  }
  return fields;
}

function textOf(value: Json): string {
  return canonicalize(value) ?? "";
}
