// What an author can say in atoll.json. The one place where a key of it is named; docs/project-file.md explains the same
// keys to people.
import { z } from "zod";
import type { JsonObject } from "../../base/json.ts";
import { faultOfVars } from "../../control/forms/worker-version/env-vars.ts";

export const PROJECT_FILE = "atoll.json";

/** A misspelt key must not silently do nothing. */
const keys = <Shape extends z.ZodRawShape>(shape: Shape) => z.strictObject(shape, "must be an object");

/** Kinds of things that later Hosts have. Refused by name, so that nobody believes they work. */
export const RESERVED_KEYS: readonly string[] = [
  "actors",
  "assets",
  "buckets",
  "consumers",
  "databases",
  "domains",
  "kv",
  "namespaces",
  "queues",
  "routes",
  "schedules",
  "streams",
  "triggers",
  "workflows",
];

/** HA-21. */
const resourceName = (what: string) =>
  z
    .string(`must be the name of ${what}`)
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/,
      "must be up to 128 letters, digits, '.', '_' or '-', beginning with a letter or digit",
    );

/** WV-33. */
const bindingName = z
  .string()
  .regex(/^[A-Za-z_$][A-Za-z0-9_$]{0,63}$/, "must be a JavaScript name of at most 64 characters");

/** WV-34. */
const secretName = z
  .string("must be a name")
  .regex(/^[A-Z][A-Z0-9_]{0,63}$/, "must be a capital letter and up to 63 capital letters, digits or '_'");

/** WV-21, WV-32, WV-36, WV-37. */
const vars = z.record(z.string(), z.unknown(), "must be an object").superRefine((value, context) => {
  const fault = faultOfVars(value as JsonObject);
  if (fault !== null) context.addIssue({ code: "custom", path: [...fault.path], message: fault.message });
});

const service = z.union(
  [
    resourceName("a Worker"),
    keys({
      worker: resourceName("a Worker").meta({ description: "Name of the Worker in the same Space." }),
      project: z
        .string("must be a path")
        .min(1, "must be a path")
        .optional()
        .meta({ description: "Directory of that Worker's project; 'atoll dev' runs it too." }),
    }),
  ],
  'must be the name of a Worker, or { "worker": …, "project": … }',
);

export const ProjectFileSchema = keys({
  $schema: z.string("must be text").optional().meta({ description: "For editors; ignored." }),
  name: resourceName("the Worker").meta({ description: "Name of the Worker in its Space." }),
  space: resourceName("a Space").default("default").meta({ description: "Space that it is deployed into." }),
  main: z
    .string("must be a path")
    .min(1, "must be a path")
    .meta({ description: "TypeScript or JavaScript file with the Worker's main module, relative to this file." }),
  handlers: z
    .array(
      z.enum(["fetch", "scheduled", "queue"], 'must be "fetch", "scheduled" or "queue"'),
      "must be a list of handlers",
    )
    .refine((all) => new Set(all).size === all.length, "must name each handler only once")
    .optional()
    .meta({ description: "Handlers of the default export; by default those that it has." }),
  vars: vars.default({}).meta({ description: "Plain variables of env: JSON values. No credentials." }),
  secrets: z
    .array(secretName, "must be a list of names")
    .max(64, "must have at most 64 names")
    .refine((all) => new Set(all).size === all.length, "must name each secret only once")
    .default([])
    .meta({ description: "Names of secrets. Values come from the environment, --secrets-file or a prompt." }),
  services: z
    .record(bindingName, service, "must be an object")
    .default({})
    .meta({ description: "Service bindings: the name in env, and the Worker that it reaches." }),
  endpoint: z
    .boolean("must be true or false")
    .optional()
    .meta({ description: "Whether the Worker has an address of its own; by default when it has a fetch handler." }),
  weight: z
    .number("must be a percentage")
    .min(0.01, "must be a percentage from 0.01 to 100")
    .max(100, "must be a percentage from 0.01 to 100")
    .default(100)
    .meta({ description: "Percentage of the traffic that a newly deployed Version gets." }),
})
  .superRefine((file, context) => {
    const owners = new Map<string, string>(Object.keys(file.vars).map((name) => [name, "vars"]));
    const named = [
      ...file.secrets.map((name, i) => ({ name, field: "secrets", path: ["secrets", i] })),
      ...Object.keys(file.services).map((name) => ({ name, field: "services", path: ["services", name] })),
    ];
    for (const { name, field, path } of named) {
      const owner = owners.get(name);
      if (owner !== undefined) {
        const message = `must not be named ${name}, which ${owner} has too; env has one set of names`;
        context.addIssue({ code: "custom", path, message });
      }
      owners.set(name, field);
    }
  })
  .meta({ title: "Atoll project" });

export type ProjectFile = z.output<typeof ProjectFileSchema>;

/** The schema of atoll.json, for editors (JSON Schema 2020-12). */
export function projectFileJsonSchema(): object {
  return z.toJSONSchema(ProjectFileSchema, { io: "input" });
}
