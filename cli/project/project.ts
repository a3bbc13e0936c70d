// A project as commands see it: what atoll.json says with paths made absolute, or what an entry file alone tells.
import { readFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { isJsonObject, type Json, type JsonObject } from "../../base/json.ts";
import type { HandlerName } from "../../runtime/workers/worker-runtime.ts";
import { complaint } from "../complaint.ts";
import { defaultName, namesOf } from "../deploy/names.ts";
import { UsageError } from "../usage-error.ts";
import { PROJECT_FILE, type ProjectFile, ProjectFileSchema, RESERVED_KEYS } from "./project-schema.ts";

export interface Service {
  readonly worker: string;
  /** Absolute; null when the Worker is somebody else's. */
  readonly project: string | null;
}

export interface Project {
  /** Absolute path of atoll.json; null for a bare entry file. */
  readonly file: string | null;
  readonly directory: string;
  readonly name: string;
  readonly space: string;
  /** Absolute. */
  readonly main: string;
  /** Undefined: those that the default export has. */
  readonly handlers: readonly HandlerName[] | undefined;
  readonly vars: JsonObject;
  readonly secrets: readonly string[];
  readonly services: Readonly<Record<string, Service>>;
  readonly endpoint: boolean | undefined;
  /** Basis points. */
  readonly weight: number;
}

/** What flags of a command say instead of the file. */
export interface ProjectFlags {
  readonly name?: string;
  readonly space?: string;
  readonly handler?: readonly HandlerName[];
  readonly var?: Readonly<Record<string, string>>;
  /** Basis points. */
  readonly weight?: number;
}

/** Rejects with a UsageError that names the key at fault and what it should be. */
export async function loadProject(directory: string, flags: ProjectFlags = {}): Promise<Project> {
  const file = join(directory, PROJECT_FILE);
  const read = readProjectFile(await textOf(file), shown(file));
  const { name, space, main, handlers, vars, secrets, services, endpoint, weight } = read;
  const project = {
    file,
    directory,
    name,
    space,
    main: resolve(directory, main),
    handlers,
    vars: vars as JsonObject,
    secrets,
    services: Object.fromEntries(
      Object.entries(services).map(([binding, it]) => {
        const { worker, project = null } = typeof it === "string" ? { worker: it } : it;
        return [binding, { worker, project: project === null ? null : resolve(directory, project) }];
      }),
    ),
    endpoint,
    weight: Math.round(weight * 100),
  };
  return withFlags(project, flags);
}

/** A project of one entry file, which has no other wishes than the flags. Throws a UsageError. */
export function projectOfEntry(entry: string, flags: ProjectFlags = {}): Project {
  const main = resolve(entry);
  const bare = {
    file: null,
    directory: dirname(main),
    // Of the path as it was written: `worker.ts` in the working directory is named after the file.
    name: flags.name ?? defaultName(entry),
    space: "default",
    main,
    handlers: undefined,
    vars: {},
    secrets: [],
    services: {},
    endpoint: undefined,
    weight: 10_000,
  };
  return withFlags(bare, flags);
}

function withFlags(project: Project, flags: ProjectFlags): Project {
  const { name = project.name, space = project.space, handler = project.handlers, weight = project.weight } = flags;
  namesOf(name);
  const vars = { ...project.vars, ...flags.var };
  const taken = Object.keys(flags.var ?? {}).find(
    (key) => project.secrets.includes(key) || Object.hasOwn(project.services, key),
  );
  if (taken !== undefined) throw new UsageError(`--var ${taken} has the name of a secret or a service binding`);
  return { ...project, name, space, handlers: handler, weight, vars };
}

/** Throws a UsageError. */
export function readProjectFile(text: string, name: string): ProjectFile {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (error) {
    throw new UsageError(`${name} is not valid JSON: ${error instanceof Error ? error.message : "syntax error"}`);
  }
  if (!isJsonObject(value)) throw new UsageError(`${name} must hold one JSON object`);
  const reserved = RESERVED_KEYS.find((key) => Object.hasOwn(value, key));
  if (reserved !== undefined) throw new UsageError(`${name}: ${reserved} is not supported by this Host yet; remove it`);
  const result = ProjectFileSchema.safeParse(value);
  if (!result.success) throw new UsageError(complaint(result.error, ProjectFileSchema, name));
  return result.data;
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch {
    const here = dirname(shown(file));
    throw new UsageError(
      `there is no ${PROJECT_FILE} in ${here === "." ? "this directory" : here}; name an entry file, or make a project with 'atoll init'`,
    );
  }
}

function shown(path: string): string {
  const short = relative(process.cwd(), path);
  return short.startsWith("..") ? path : short;
}
