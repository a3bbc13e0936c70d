import { Command, InvalidArgumentError, Option } from "commander";
import { SystemClock } from "../../base/clock.ts";
import type { HandlerName } from "../../runtime/workers/worker-runtime.ts";
import { BuildError } from "../deploy/build-error.ts";
import { deploy, type Deployed } from "../deploy/deploy.ts";
import { handlersOf } from "../deploy/handlers.ts";
import { defaultName, namesOf } from "../deploy/names.ts";
import { buildWorkerFiles } from "../deploy/worker-files.ts";
import { reportFailure } from "../failure.ts";
import { printJson, printLine } from "../output.ts";
import { withNode, openSession, type Session, type SessionFlags } from "../session.ts";

interface DeployFlags extends SessionFlags {
  readonly name?: string;
  readonly space: string;
  readonly handler?: readonly HandlerName[];
  readonly var: Readonly<Record<string, string>>;
}

const HANDLERS = ["fetch", "scheduled", "queue"] as const;

export function deployCommand(): Command {
  const command = new Command("deploy")
    .description("bundle a Worker, upload it, and make it answer")
    .argument("<entry>", "TypeScript or JavaScript file with the Worker's main module")
    .option("--name <name>", "name of the Worker (default: from the entry file)")
    .option("--space <name>", "Space to deploy into", "default")
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
    .action(run);
  return withNode(command);
}

async function run(entry: string, flags: DeployFlags): Promise<void> {
  const name = flags.name ?? defaultName(entry);
  namesOf(name);
  const files = await buildWorkerFiles(entry);
  const handlers = flags.handler ?? (await handlersOf(files, new SystemClock(), () => giveUp(flags)));
  const session = await openSession(flags);
  const deployed = await deploy(session, {
    name,
    space: flags.space,
    files,
    handlers,
    vars: flags.var,
  });
  if (flags.json) printJson(deployed);
  else tell(session, deployed);
}

function tell({ client, say }: Session, { url, hostname, changed }: Deployed): void {
  say(changed ? "deployed" : "nothing to change");
  const { origin } = client.location;
  if (origin.startsWith("http:")) say(`try it: curl -H 'Host: ${hostname}' ${origin}/`);
  printLine(url);
}

/** The modules still run in a thread that nothing can stop, so the process cannot end in the ordinary way. */
function giveUp(flags: DeployFlags): never {
  const error = new BuildError("the Worker does not load: its modules do not stop evaluating");
  process.exit(reportFailure(error, flags.json === true));
}

function collectVar(text: string, before: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const equals = text.indexOf("=");
  const name = text.slice(0, equals);
  if (equals < 1 || !/^[A-Za-z][A-Za-z0-9._-]{0,63}$/.test(name)) {
    throw new InvalidArgumentError("write NAME=value; a name has letters, digits, '.', '_' or '-'.");
  }
  return { ...before, [name]: text.slice(equals + 1) };
}
