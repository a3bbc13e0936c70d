import { resolve } from "node:path";
import { Command } from "commander";
import { destroy, partsOf } from "../deploy/destroy.ts";
import { namesOf } from "../deploy/names.ts";
import { shortFormName } from "../form-names.ts";
import { printJson, printLine } from "../output.ts";
import { loadProject } from "../project/project.ts";
import { askYes, isPerson } from "../prompt.ts";
import { openSession, type SessionFlags, withNode } from "../session.ts";
import { UsageError } from "../usage-error.ts";

interface DestroyFlags extends SessionFlags {
  readonly project?: string;
  readonly name?: string;
  readonly space?: string;
  readonly yes?: boolean;
}

export function destroyCommand(): Command {
  return withNode(
    new Command("destroy")
      .description("take a Worker down: its endpoint, deployment, versions, bundles and identity")
      .option("--project <dir>", "directory with the project's atoll.json (default: the working directory)")
      .option("--name <name>", "name of the Worker (default: that of atoll.json)")
      .option("--space <name>", 'Space of the Worker (default: that of atoll.json, or "default" with --name)')
      .option("--yes", "do not ask")
      .action(run),
  );
}

async function run(flags: DestroyFlags): Promise<void> {
  const { name, space } = await worker(flags);
  const { client, say } = await openSession(flags);
  const parts = await partsOf(client, space, name);
  if (parts.length > 0 && flags.yes !== true)
    await confirm(
      name,
      parts.map(({ form, name }) => `${shortFormName(form)} ${name}`),
      say,
    );
  await destroy(client, parts, say);
  const removed = parts.map(({ uid, form, name }) => ({ uid, form, name }));
  if (flags.json) printJson({ name, space, removed });
  else printLine(parts.length === 0 ? `there is nothing of ${name} in Space ${space}` : `${name} is gone`);
}

async function worker(flags: DestroyFlags): Promise<{ readonly name: string; readonly space: string }> {
  if (flags.name !== undefined && flags.project === undefined) {
    namesOf(flags.name);
    return { name: flags.name, space: flags.space ?? "default" };
  }
  const { name, space } = await loadProject(resolve(flags.project ?? "."), flags);
  return { name, space };
}

async function confirm(name: string, parts: readonly string[], say: (line: string) => void): Promise<void> {
  for (const part of parts) say(`  ${part}`);
  if (!isPerson()) throw new UsageError(`this removes ${parts.length} Resources of ${name}; say --yes to do it`);
  if (!(await askYes(`remove these ${parts.length} Resources of ${name}?`)))
    throw new UsageError("nothing was removed");
}
