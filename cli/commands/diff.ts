import { Command } from "commander";
import { SystemClock } from "../../base/clock.ts";
import { type Plan, type PlannedChange, planOf } from "../deploy/plan.ts";
import { printJson, printLine } from "../output.ts";
import { prepare } from "../project/prepare.ts";
import { knownSecrets } from "../project/secrets.ts";
import { giveUp, type ProjectCommandFlags, projectFor, weightOption, withProject } from "../project-options.ts";
import { openSession, type SessionFlags, withNode } from "../session.ts";

interface DiffFlags extends SessionFlags, ProjectCommandFlags {
  readonly exitCode?: boolean;
}

/** With --exit-code, when something would change. */
const DIFFERS = 3;

export function diffCommand(): Command {
  const command = new Command("diff").description("show what a deployment would change on the node");
  return withNode(
    withProject(command)
      .addOption(weightOption())
      .option("--exit-code", `exit with ${DIFFERS} when something would change`)
      .action(run),
  );
}

async function run(entry: string | undefined, flags: DiffFlags): Promise<void> {
  const project = await projectFor(entry, flags);
  // Nobody is asked for a value here: without one the answer is that nobody can say.
  const sources = { env: process.env, file: flags.secretsFile, cwd: process.cwd(), ask: null };
  const secrets = await knownSecrets(project.secrets, sources);
  const onStuck = (): never => giveUp(flags.json === true);
  const input = await prepare(project, secrets, { clock: new SystemClock(), onStuck });
  const { client } = await openSession(flags);
  const plan = await planOf(client, input, project.secrets);
  if (flags.json) printJson(plan);
  else tell(plan);
  if (flags.exitCode && plan.changes) process.exitCode = DIFFERS;
}

const MARKS: Readonly<Record<PlannedChange["action"], string>> = {
  none: " ",
  create: "+",
  update: "~",
  delete: "-",
  unknown: "?",
};

function tell({ name, changes, steps }: Plan): void {
  if (!changes) {
    printLine(`${name} is as it should be; a deployment would change nothing`);
    return;
  }
  for (const { action, what, name, changes } of steps) {
    printLine(`${MARKS[action]} ${what}${name === null ? "" : ` ${name}`}`);
    for (const { field, from, to } of changes) printLine(`    ${field}: ${from ?? "none"} → ${to ?? "none"}`);
  }
}
