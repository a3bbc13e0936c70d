import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { countRecords } from "../../storage/disk/probes/killed-writer.ts";
import { ownCommand } from "../node/own-command.ts";
import type { KillFacts } from "./kill-survival.ts";

/** Acknowledgements to wait for before the kill. */
const ACKNOWLEDGED_MIN = 32;
/** A slow disk gets killed with fewer. */
const WAIT_MS_MAX = 5_000;

/** Let a process of ours write into `directory`, kill it amid that, and count what is there. */
export async function killAWriter(directory: string, clock: Clock): Promise<KillFacts> {
  const path = join(directory, "acknowledged");
  const child = Bun.spawn([...ownCommand(), "doctor", "--write-until-killed", path], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
  });
  const cancel = clock.after(WAIT_MS_MAX, () => child.kill("SIGKILL"));
  let text = "";
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    // Only whole lines count. What is still in the pipe is read to its end: it was acknowledged before the kill.
    if (text.split("\n").length > ACKNOWLEDGED_MIN) child.kill("SIGKILL");
  }
  cancel();
  await child.exited;
  const acknowledged = Number(text.split("\n").at(-2) ?? 0);
  if (acknowledged === 0) throw new Error("the process that should write did not");
  return { acknowledged, found: countRecords(path) };
}
