// What the commands of a project share: which project, and what flags say instead of its file.
import { type Command, InvalidArgumentError, Option } from "commander";
import { resolve } from "node:path";
import { WEIGHT_TOTAL } from "../base/limits.ts";
import { BuildError } from "./deploy/build-error.ts";
import { reportFailure } from "./failure.ts";
import { loadProject, type Project, type ProjectFlags, projectOfEntry } from "./project/project.ts";
import { secretValues } from "./project/secrets.ts";
import { askHidden, isPerson } from "./prompt.ts";
import { UsageError } from "./usage-error.ts";

export interface ProjectCommandFlags extends ProjectFlags {
  readonly project?: string;
  readonly secretsFile?: string;
}

const HANDLERS = ["fetch", "scheduled", "queue"] as const;

/** Adds an optional entry and the options that change what the project says. */
export function withProject(command: Command): Command {
  return command
    .argument("[entry]", "TypeScript or JavaScript file with the Worker's main module (default: that of atoll.json)")
    .option("--project <dir>", "directory with the project's atoll.json (default: the working directory)")
    .option("--name <name>", "name of the Worker (default: that of atoll.json, or from the entry file)")
    .option("--space <name>", 'Space of the Worker (default: that of atoll.json, or "default")')
    .addOption(
      new Option("--handler <names...>", "handlers of the default export (default: those that it has)").choices(
        HANDLERS,
      ),
    )
    .addOption(
      new Option("--var <NAME=value>", "plain variable of env; may be repeated")
        .argParser(collectVar)
        .default({}, "none"),
    )
    .option("--secrets-file <file>", "NAME=value lines with the values of the project's secrets");
}

export function weightOption(): Option {
  return new Option(
    "--weight <percent>",
    "what the new Version gets of the traffic; the Versions before it keep the rest (default: 100)",
  ).argParser(basisPoints);
}

/** Rejects with a UsageError. */
export async function projectFor(entry: string | undefined, flags: ProjectCommandFlags): Promise<Project> {
  if (entry === undefined) return await loadProject(resolve(flags.project ?? "."), flags);
  if (flags.project !== undefined) throw new UsageError("give an entry file or --project, not both");
  return projectOfEntry(entry, flags);
}

export async function secretsFor(
  project: Project,
  flags: ProjectCommandFlags,
): Promise<Readonly<Record<string, string>>> {
  return await secretValues(project.secrets, {
    env: process.env,
    file: flags.secretsFile,
    cwd: process.cwd(),
    ask: isPerson() ? (name) => askHidden(`value of the secret ${name}: `) : null,
  });
}

/** The modules still run in a thread that nothing can stop, so the process cannot end in the ordinary way. */
export function giveUp(json: boolean): never {
  const error = new BuildError("the Worker does not load: its modules do not stop evaluating");
  process.exit(reportFailure(error, json));
}

function collectVar(text: string, before: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const equals = text.indexOf("=");
  const name = text.slice(0, equals);
  if (equals < 1 || !/^[A-Za-z][A-Za-z0-9._-]{0,63}$/.test(name)) {
    throw new InvalidArgumentError("write NAME=value; a name has letters, digits, '.', '_' or '-'.");
  }
  return { ...before, [name]: text.slice(equals + 1) };
}

function basisPoints(text: string): number {
  const percent = /^\d{1,3}(?:\.\d{1,2})?%?$/.test(text) ? Number(text.replace("%", "")) : Number.NaN;
  const weight = Math.round(percent * (WEIGHT_TOTAL / 100));
  if (!(weight >= 1 && weight <= WEIGHT_TOTAL)) {
    throw new InvalidArgumentError("write a percentage from 0.01 to 100.");
  }
  return weight;
}
