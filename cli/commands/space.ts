import { Command } from "commander";
import { printJson, printLine, printTable } from "../output.ts";
import { withNode, openSession, type SessionFlags } from "../session.ts";

export function spaceCommand(): Command {
  const create = new Command("create")
    .description("make a Space; one that is there stays as it is")
    .argument("<name>")
    .action(createSpace);
  const list = new Command("list").description("list Spaces").action(listSpaces);
  return new Command("space")
    .description("make and list Spaces")
    .addCommand(withNode(create))
    .addCommand(withNode(list));
}

async function createSpace(name: string, flags: SessionFlags): Promise<void> {
  const { operator } = await openSession(flags);
  const space = await operator.createSpace(name);
  if (flags.json) printJson(space);
  else printLine(space.created ? `Space ${name} is made` : `Space ${name} was there already`);
}

async function listSpaces(flags: SessionFlags): Promise<void> {
  const { operator } = await openSession(flags);
  const items = await operator.spaces();
  if (flags.json) printJson({ items });
  else
    printTable(
      ["name", "created"],
      items.map((space) => [space.name, space.createdAt]),
    );
}
