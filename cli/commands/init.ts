import { mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { Command } from "commander";
import { defaultName, namesOf } from "../deploy/names.ts";
import { printJson, printLine } from "../output.ts";
import { scaffold } from "../project/scaffold.ts";
import { isPerson } from "../prompt.ts";
import { UsageError } from "../usage-error.ts";

interface InitFlags {
  readonly name?: string;
  readonly yes?: boolean;
  readonly json?: boolean;
}

export function initCommand(): Command {
  return new Command("init")
    .description("make a TypeScript project: a Worker, its types, a test and atoll.json")
    .argument("[dir]", "directory of the project", ".")
    .option("--name <name>", "name of the Worker (default: that of the directory)")
    .option("--yes", "do not ask")
    .option("--json", "print the result as JSON")
    .action(init);
}

async function init(dir: string, flags: InitFlags): Promise<void> {
  const directory = resolve(dir);
  const suggested = defaultName(`${basename(directory)}/worker.ts`);
  const name = flags.name ?? (flags.yes || flags.json || !isPerson() ? suggested : await askName(suggested));
  namesOf(name);
  const { missing, same } = await compare(directory, scaffold(name));
  for (const [path, content] of missing) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    // Nobody's file is written over, even when it appeared since the look.
    await writeFile(join(directory, path), content, { flag: "wx" });
  }
  const made = [...missing.keys()];
  if (flags.json) printJson({ name, directory, made, present: same });
  else tell(directory, made);
}

/** Which files are to be made. Rejects with a UsageError when one is there with other content, before any is made. */
async function compare(
  directory: string,
  files: ReadonlyMap<string, string>,
): Promise<{ readonly missing: ReadonlyMap<string, string>; readonly same: readonly string[] }> {
  const missing = new Map<string, string>();
  const same: string[] = [];
  const other: string[] = [];
  for (const [path, content] of files) {
    const present = await readFile(join(directory, path), "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return null;
      throw new UsageError(`${path} cannot be made here: something else has its place`);
    });
    if (present === null) missing.set(path, content);
    else if (present === content) same.push(path);
    else other.push(path);
  }
  if (other.length === 0) return { missing, same };
  const list = other.join(", ");
  throw new UsageError(
    `${list} ${other.length === 1 ? "is" : "are"} there already; nothing was written; choose another directory`,
  );
}

async function askName(suggested: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return (await lines.question(`name of the Worker [${suggested}] `)).trim() || suggested;
  } finally {
    lines.close();
  }
}

function tell(directory: string, made: readonly string[]): void {
  for (const path of made) printLine(`made ${path}`);
  if (made.length === 0) printLine("everything is there already");
  const place = relative(process.cwd(), directory);
  printLine(`\nnext: ${place === "" ? "" : `cd ${place} && `}atoll dev`);
}
