import { writeSync } from "node:fs";
import { Command, Option } from "commander";
import { SystemClock } from "../../base/clock.ts";
import { writeAcknowledged } from "../../storage/disk/probes/killed-writer.ts";
import { type ConfigFlags, loadConfig } from "../config.ts";
import { configOptions } from "../config-options.ts";
import { dataPlace } from "../doctor/data-place.ts";
import { type Checked, diagnose, verdictOf } from "../doctor/diagnosis.ts";
import { systemProbes } from "../doctor/probes.ts";
import { printJson, printLine } from "../output.ts";

interface DoctorFlags extends ConfigFlags {
  readonly json?: boolean;
  readonly writeUntilKilled?: string;
}

export function doctorCommand(): Command {
  const command = new Command("doctor").description("look at the machine and the disk that a node would run on");
  return configOptions(command)
    .option("--json", "print one JSON object on stdout")
    .addOption(new Option("--write-until-killed <file>").hideHelp())
    .action(run);
}

async function run(flags: DoctorFlags): Promise<void> {
  if (flags.writeUntilKilled !== undefined) {
    // One system call each: an acknowledgement that waits in a buffer of ours would be none.
    writeAcknowledged(flags.writeUntilKilled, (record) => writeSync(1, `${record}\n`));
    return;
  }
  const config = await loadConfig({ flags, env: process.env, cwd: process.cwd() });
  const found: Checked[] = [];
  for await (const checked of diagnose(systemProbes(config, dataPlace(config.data), new SystemClock()))) {
    found.push(checked);
    if (flags.json !== true) tell(checked);
  }
  const verdict = verdictOf(found);
  if (flags.json === true) printJson({ verdict, checks: found });
  else printLine(`\n${count(found, "ok")} ok, ${count(found, "warn")} warn, ${count(found, "fail")} fail`);
  if (verdict === "fail") process.exitCode = 1;
}

const NAME_WIDTH = 16;

function tell({ check, verdict, says, advice }: Checked): void {
  printLine(`${verdict.padEnd(5)} ${check.padEnd(NAME_WIDTH)} ${says}`);
  if (advice !== undefined) printLine(`${" ".repeat(6)}${"".padEnd(NAME_WIDTH)} → ${advice}`);
}

function count(found: readonly Checked[], verdict: Checked["verdict"]): number {
  return found.filter((one) => one.verdict === verdict).length;
}
