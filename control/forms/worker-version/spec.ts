import { z } from "zod";
import type { ResourceUid } from "../../../base/ids.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../base/json.ts";
import type { HandlerName } from "../../../runtime/workers/worker-runtime.ts";
import { Refusal } from "../form.ts";
import { echo, readSpec, reference } from "../read-spec.ts";
import { BINDING_FIELDS, BINDING_KINDS, type Binding, type BindingField } from "./binding-kinds.ts";
import { faultOfVars } from "./env-vars.ts";

/** Everything expanded and sets ordered, so that specs which mean the same are equal values (WV-39 … WV-43). */
export interface WorkerVersionSpec {
  readonly worker: ResourceUid;
  readonly bundle: ResourceUid | null;
  readonly handlers: readonly HandlerName[];
  readonly vars: JsonObject;
  readonly requiredSensitiveVars: readonly string[];
  readonly bindings: Readonly<Record<BindingField, readonly Binding[]>>;
  readonly assets: AssetDelivery | null;
}

export interface AssetDelivery {
  readonly bundle: ResourceUid;
  readonly runWorkerFirst: boolean;
  readonly notFoundHandling: "none" | "single_page_application";
}

/** WV-22, WV-23. */
const NAMES_MAX = 64;

const handlers = z
  .array(z.enum(["fetch", "scheduled", "queue"]))
  .max(3)
  .refine((all) => new Set(all).size === all.length, { error: "must name each handler only once" });

const vars = z
  .custom<JsonObject>((value) => isJsonObject(value as Json), { error: "must be an object", abort: true })
  .superRefine((value, context) => {
    const fault = faultOfVars(value);
    if (fault !== null) context.addIssue({ code: "custom", path: [...fault.path], message: fault.message });
  });

/** WV-34. */
const secretName = z
  .string()
  .regex(/^[A-Z][A-Z0-9_]{0,63}$/, "must be a capital letter and up to 63 capital letters, digits or '_'");

/** WV-33. */
const bindingName = z
  .string()
  .regex(/^[A-Za-z_$][A-Za-z0-9_$]{0,63}$/, "must be a JavaScript name of at most 64 letters, digits, '_' or '$'");

const bindings = z
  .array(
    z
      .strictObject({ name: bindingName, resource: reference })
      .transform((it): Binding => ({ name: it.name, target: it.resource })),
  )
  .max(NAMES_MAX)
  .default([]);

/** WV-18 … WV-25. */
const schema = z.strictObject({
  worker: reference,
  bundle: reference.optional(),
  handlers,
  vars: vars.default({}),
  requiredSensitiveVars: z.array(secretName).max(NAMES_MAX).default([]),
  kvBindings: bindings,
  sqliteBindings: bindings,
  bucketBindings: bindings,
  queueProducerBindings: bindings,
  serviceBindings: bindings,
  actorBindings: bindings,
  workflowBindings: bindings,
  assets: z
    .strictObject({
      bundle: reference,
      runWorkerFirst: z.boolean(),
      notFoundHandling: z.enum(["none", "single_page_application"]),
    })
    .optional(),
});

/** Reads and normalises. Throws Refusal(`invalid_spec`); what this Host cannot provide is refused after all else. */
export function parseWorkerVersion(json: Json): WorkerVersionSpec {
  const read = readSpec(schema, json);
  const spec: WorkerVersionSpec = {
    worker: read.worker,
    bundle: read.bundle ?? null,
    handlers: read.handlers.toSorted(),
    vars: read.vars,
    requiredSensitiveVars: read.requiredSensitiveVars.toSorted(),
    bindings: Object.fromEntries(
      BINDING_FIELDS.map((field) => [field, read[field].toSorted((a, b) => (a.name < b.name ? -1 : 1))]),
    ) as Record<BindingField, Binding[]>,
    assets: read.assets ?? null,
  };
  requireOwnNames(spec);
  requireLegalShape(spec);
  requireSupport(spec);
  return spec;
}

/** Every Binding of the Version, in no particular order. */
export function bindingsOf(
  spec: WorkerVersionSpec,
): readonly { readonly field: BindingField; readonly binding: Binding }[] {
  return BINDING_FIELDS.flatMap((field) => spec.bindings[field].map((binding) => ({ field, binding })));
}

/** WV-35: one namespace for variables, secrets and Bindings of every kind. */
function requireOwnNames(spec: WorkerVersionSpec): void {
  const names = new Set(Object.keys(spec.vars));
  for (const name of [...spec.requiredSensitiveVars, ...bindingsOf(spec).map((it) => it.binding.name)]) {
    if (names.has(name)) {
      refuse(`spec declares the env name ${echo(name)} more than once; variables, secrets and Bindings share one set.`);
    }
    names.add(name);
  }
}

/** WV-26, WV-27, WV-30. */
function requireLegalShape(spec: WorkerVersionSpec): void {
  if (spec.bundle === null) {
    if (spec.assets === null) refuse("spec needs a bundle, or assets for a Version that only delivers files.");
    if (spec.handlers.length > 0) refuse("spec.handlers must be empty without spec.bundle.");
    if (Object.keys(spec.vars).length > 0) refuse("spec.vars must be empty without spec.bundle.");
    if (spec.requiredSensitiveVars.length > 0) refuse("spec.requiredSensitiveVars must be empty without spec.bundle.");
    for (const { field } of bindingsOf(spec)) refuse(`spec.${field} must be empty without spec.bundle.`);
  }
  if (spec.assets?.runWorkerFirst === true && !spec.handlers.includes("fetch")) {
    refuse('spec.assets.runWorkerFirst must be false unless spec.handlers has "fetch".');
  }
}

function requireSupport(spec: WorkerVersionSpec): void {
  for (const { field } of bindingsOf(spec)) {
    const kind = BINDING_KINDS[field];
    if (kind.provide === undefined) refuse(`spec.${field}: this Host does not support ${kind.label} Bindings yet.`);
  }
  if (spec.assets !== null) refuse("spec.assets: this Host does not support asset delivery yet.");
}

function refuse(message: string): never {
  throw new Refusal("invalid_spec", message);
}
