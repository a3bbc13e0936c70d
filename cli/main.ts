// The `atoll` command. Only the command that runs is loaded, so that help and version come at once.
import { Command } from "commander";
import packageJson from "../package.json" with { type: "json" };
import { reportFailure } from "./failure.ts";
import { versionLine } from "./version.ts";

interface Entry {
  readonly name: string;
  readonly description: string;
  readonly load: () => Promise<Command>;
}

const COMMANDS: readonly Entry[] = [
  {
    name: "serve",
    description: "run a node",
    load: async () => (await import("./commands/serve.ts")).serveCommand(),
  },
  {
    name: "init",
    description: "make a project",
    load: async () => (await import("./commands/init.ts")).initCommand(),
  },
  {
    name: "dev",
    description: "run a Worker on this machine, and again at every save",
    load: async () => (await import("./commands/dev.ts")).devCommand(),
  },
  {
    name: "deploy",
    description: "bundle a Worker, upload it, and make it answer",
    load: async () => (await import("./commands/deploy.ts")).deployCommand(),
  },
  {
    name: "diff",
    description: "show what a deployment would change on the node",
    load: async () => (await import("./commands/diff.ts")).diffCommand(),
  },
  {
    name: "destroy",
    description: "take a Worker down",
    load: async () => (await import("./commands/destroy.ts")).destroyCommand(),
  },
  {
    name: "logs",
    description: "show what Workers print, throw and answer",
    load: async () => (await import("./commands/logs.ts")).logsCommand(),
  },
  {
    name: "resources",
    description: "list, show and delete Resources",
    load: async () => (await import("./commands/resources.ts")).resourcesCommand(),
  },
  {
    name: "operations",
    description: "look at accepted changes",
    load: async () => (await import("./commands/operations.ts")).operationsCommand(),
  },
  {
    name: "space",
    description: "make and list Spaces",
    load: async () => (await import("./commands/space.ts")).spaceCommand(),
  },
  {
    name: "token",
    description: "make, list and revoke tokens of principals",
    load: async () => (await import("./commands/token.ts")).tokenCommand(),
  },
  {
    name: "config",
    description: "check the configuration of a node",
    load: async () => (await import("./commands/config.ts")).configCommand(),
  },
  {
    name: "doctor",
    description: "look at the machine and the disk that a node would run on",
    load: async () => (await import("./commands/doctor.ts")).doctorCommand(),
  },
];

/** Run the command line `args` (without program names). Resolves to the exit code; never rejects. */
export async function main(args: readonly string[]): Promise<number> {
  try {
    const program = await programFor(args);
    await program.parseAsync(args, { from: "user" });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    return reportFailure(error, args.includes("--json"));
  }
}

async function programFor(args: readonly string[]): Promise<Command> {
  // Whoever does not ask for it does not wait for git.
  const asked = args.some((arg) => arg === "-V" || arg === "--version");
  const program = new Command("atoll")
    .description(packageJson.description)
    .version(asked ? versionLine() : packageJson.version, "-V, --version", "print the version")
    .showSuggestionAfterError();
  const words = args.filter((arg) => !arg.startsWith("-"));
  const wanted = words[0] === "help" ? words[1] : words[0];
  for (const { name, description, load } of COMMANDS) {
    program.addCommand(name === wanted ? await load() : new Command(name).description(description));
  }
  for (const command of withSubcommands(program)) {
    // Misuse is reported like every other failure, in one place.
    command.exitOverride().configureOutput({ outputError: () => {} });
  }
  return program;
}

function withSubcommands(command: Command): Command[] {
  return [command, ...command.commands.flatMap((child) => withSubcommands(child))];
}

if (import.meta.main) {
  const args = process.argv.slice(2);
  // A binary starts itself as a cell (sandbox/process-cell.ts); a checkout has a file for that.
  if (args[0] === "__cell") await import("../sandbox/process-main.ts");
  else process.exitCode = await main(args);
}
