import canonicalize from "canonicalize";
import { isJsonObject, type Json, type JsonObject } from "../../base/json.ts";
import type { HandlerName } from "../../runtime/workers/worker-runtime.ts";

export interface VersionParts {
  readonly worker: string;
  readonly bundle: string;
  readonly handlers: readonly HandlerName[];
  readonly vars: Readonly<Record<string, Json>>;
  readonly secretNames: readonly string[];
  /** Worker uids by binding name. */
  readonly services: Readonly<Record<string, string>>;
}

/** The spec of a WorkerVersion with its sets sorted and its defaults left out (WV-39, WV-40). */
export function versionSpecOf(parts: VersionParts): JsonObject {
  const services = Object.entries(parts.services)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, resourceUid]) => ({ name, resource: { resourceUid } }));
  return {
    worker: { resourceUid: parts.worker },
    bundle: { resourceUid: parts.bundle },
    handlers: parts.handlers.toSorted(),
    ...(Object.keys(parts.vars).length === 0 ? {} : { vars: parts.vars }),
    ...(parts.secretNames.length === 0 ? {} : { requiredSensitiveVars: parts.secretNames.toSorted() }),
    ...(services.length === 0 ? {} : { serviceBindings: services }),
  };
}

/** Whether two specs of WorkerVersions mean the same (WV-39 … WV-43), whoever wrote them. */
export function sameVersionSpec(a: JsonObject, b: JsonObject): boolean {
  return canonicalize(normal(a)) === canonicalize(normal(b));
}

function normal(spec: JsonObject): JsonObject {
  const entries = Object.entries(spec).flatMap(([field, value]): [string, Json][] => {
    if (Array.isArray(value)) return value.length === 0 ? [] : [[field, (value as readonly Json[]).toSorted(byText)]];
    return field === "vars" && isJsonObject(value) && Object.keys(value).length === 0 ? [] : [[field, value]];
  });
  // No handler at all is said with an empty list, which must not look like a list left out.
  return { handlers: [], ...Object.fromEntries(entries) };
}

function byText(a: Json, b: Json): number {
  return (canonicalize(a) ?? "") < (canonicalize(b) ?? "") ? -1 : 1;
}
