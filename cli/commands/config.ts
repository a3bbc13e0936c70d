import { Command } from "commander";
import { type ConfigFlags, loadConfig } from "../config.ts";
import { configOptions } from "../config-options.ts";
import { hostFileJsonSchema } from "../config-schema.ts";
import { printLine } from "../output.ts";
import { redact } from "../redact.ts";

export function configCommand(): Command {
  return new Command("config")
    .description("check the configuration of a node")
    .addCommand(new Command("schema").description("print the JSON Schema of the config file").action(schema))
    .addCommand(
      configOptions(new Command("check"))
        .description("print the configuration that would be in force; credentials are left out")
        .action(check),
    );
}

function schema(): void {
  printLine(JSON.stringify(hostFileJsonSchema(), null, 2));
}

async function check(flags: ConfigFlags): Promise<void> {
  const config = await loadConfig({ flags, env: process.env, cwd: process.cwd() });
  printLine(JSON.stringify(redact(config), null, 2));
}
