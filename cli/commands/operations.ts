import { Command } from "commander";
import { ApiError } from "../client/api-error.ts";
import { printFields, printJson } from "../output.ts";
import { withNode, openSession, type SessionFlags } from "../session.ts";

export function operationsCommand(): Command {
  return new Command("operations")
    .description("look at accepted changes")
    .addCommand(withNode(new Command("show").description("show one Operation").argument("<id>").action(show)));
}

async function show(id: string, flags: SessionFlags): Promise<void> {
  const { client } = await openSession(flags);
  const operation = await client.operation(id);
  if (operation === null) throw new ApiError("not_found", `there is no Operation ${id}, or it is no longer kept`);
  if (flags.json) printJson(operation);
  else printFields(operation);
}
