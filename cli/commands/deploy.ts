import { Command } from "commander";
import { SystemClock } from "../../base/clock.ts";
import { deploy, type Deployed } from "../deploy/deploy.ts";
import { printJson, printLine } from "../output.ts";
import { prepare } from "../project/prepare.ts";
import {
  giveUp,
  type ProjectCommandFlags,
  projectFor,
  secretsFor,
  weightOption,
  withProject,
} from "../project-options.ts";
import { openSession, type Session, type SessionFlags, withNode } from "../session.ts";

interface DeployFlags extends SessionFlags, ProjectCommandFlags {}

export function deployCommand(): Command {
  const command = new Command("deploy").description("bundle a Worker, upload it, and make it answer");
  return withNode(withProject(command).addOption(weightOption()).action(run));
}

async function run(entry: string | undefined, flags: DeployFlags): Promise<void> {
  const project = await projectFor(entry, flags);
  const secrets = await secretsFor(project, flags);
  const onStuck = (): never => giveUp(flags.json === true);
  const input = await prepare(project, secrets, { clock: new SystemClock(), onStuck });
  const session = await openSession(flags);
  const deployed = await deploy(session, input);
  if (flags.json) printJson(deployed);
  else tell(session, deployed);
}

function tell({ client, say }: Session, { name, url, hostname, weights, versionUid, changed }: Deployed): void {
  say(changed ? "deployed" : "nothing to change");
  const share = weights[versionUid] ?? 0;
  if (Object.keys(weights).length > 1) say(`this version gets ${share / 100} % of the traffic, older ones the rest`);
  const { origin } = client.location;
  if (hostname !== null && origin.startsWith("http:")) say(`try it: curl -H 'Host: ${hostname}' ${origin}/`);
  printLine(url ?? `${name} has no address; other Workers reach it by a service binding`);
}
