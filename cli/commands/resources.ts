import { Command } from "commander";
import { ApiError } from "../client/api-error.ts";
import type { HostClient } from "../client/host-client.ts";
import type { Resource } from "../client/host-types.ts";
import { formUrlOf, shortFormName } from "../form-names.ts";
import { printFields, printJson, printLine, printTable } from "../output.ts";
import { withNode, openSession, type SessionFlags } from "../session.ts";

interface ListFlags extends SessionFlags {
  readonly space?: string;
  readonly name?: string;
  readonly form?: string;
}

interface OneFlags extends SessionFlags {
  readonly space: string;
}

export function resourcesCommand(): Command {
  const list = new Command("list")
    .description("list Resources")
    .option("--space <name>", "only of this Space")
    .option("--name <name>", "only of this name")
    .option("--form <form>", "only of this Form: its exact URL, or a name such as ModuleWorker")
    .action(listResources);
  const one = (name: string): Command =>
    new Command(name)
      .argument("<resource>", "uid, or name in the Space")
      .option("--space <name>", "Space in which the name is looked up", "default");
  return new Command("resources")
    .description("list, show and delete Resources")
    .addCommand(withNode(list))
    .addCommand(withNode(one("show").description("show one Resource").action(showResource)))
    .addCommand(
      withNode(one("delete").description("delete one Resource and wait until it is gone").action(deleteResource)),
    );
}

async function listResources(flags: ListFlags): Promise<void> {
  const filter = {
    ...(flags.space === undefined ? {} : { space: flags.space }),
    ...(flags.name === undefined ? {} : { name: flags.name }),
    ...(flags.form === undefined ? {} : { form: formUrlOf(flags.form) }),
  };
  const { client } = await openSession(flags);
  const items: Resource[] = [];
  for await (const resource of client.resources(filter)) items.push(resource);
  if (flags.json) {
    printJson({ items });
    return;
  }
  printTable(
    ["uid", "form", "space", "name", "phase", "generation"],
    items.map((item) => [
      item.uid,
      shortFormName(item.form),
      item.space,
      item.name,
      item.phase,
      `${item.observedGeneration}/${item.generation}`,
    ]),
  );
}

async function showResource(which: string, flags: OneFlags): Promise<void> {
  const { client } = await openSession(flags);
  const resource = await find(client, which, flags.space);
  if (flags.json) printJson(resource);
  else printFields(resource);
}

async function deleteResource(which: string, flags: OneFlags): Promise<void> {
  const { client, say } = await openSession(flags);
  const resource = await find(client, which, flags.space);
  say(`deleting ${shortFormName(resource.form)} ${resource.name} (${resource.uid})`);
  const operation = await client.settled(await client.delete(resource));
  if (flags.json) printJson(operation);
  else printLine(`${resource.name} is deleted`);
}

/** By uid first: a name may look like one, but a uid is never given twice. */
async function find(client: HostClient, which: string, space: string): Promise<Resource> {
  const found = (await client.resource(which)) ?? (await client.named(space, which));
  if (found !== null) return found;
  throw new ApiError("not_found", `there is no Resource ${which}, neither as a uid nor as a name in Space ${space}`, {
    hint: "look at 'atoll resources list'; name another Space with --space",
  });
}
