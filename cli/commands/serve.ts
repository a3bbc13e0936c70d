import { join } from "node:path";
import { Command } from "commander";
import { SystemClock } from "../../base/clock.ts";
import { SystemRandom } from "../../base/random.ts";
import { writeDurable } from "../../storage/disk/durable-file.ts";
import { type ConfigFlags, loadConfig } from "../config.ts";
import { configOptions } from "../config-options.ts";
import { createLogger } from "../log.ts";
import { type Node, openNode } from "../node/node.ts";
import { restartProcess } from "../node/restart.ts";
import { printJson, printLine } from "../output.ts";
import { StderrSink } from "../stderr-sink.ts";

const LAST_LINES_MS = 250;

interface ServeFlags extends ConfigFlags {
  readonly json?: boolean;
  readonly testClock?: boolean;
}

export function serveCommand(): Command {
  return configOptions(new Command("serve").description("run a node until SIGTERM or SIGINT"))
    .option(
      "--test-clock",
      "let time stand still until 'POST /operator/v1/test-clock/advance' moves it; for tests alone",
    )
    .option("--json", "print one JSON object on stdout when ready, and log JSON lines")
    .action(serve);
}

async function serve(flags: ServeFlags): Promise<void> {
  const config = await loadConfig({ flags, env: process.env, cwd: process.cwd() });
  const clock = new SystemClock();
  const people = flags.json !== true && process.stderr.isTTY;
  const sink = new StderrSink(clock);
  const log = createLogger({
    level: config.log.level,
    format: people ? "people" : "lines",
    clock,
    sink,
    colour: people,
  });
  const node = await openNode({
    config,
    clock,
    testClock: flags.testClock === true,
    random: new SystemRandom(),
    log,
    secretKey: process.env["ATOLL_SECRET_KEY"],
    onStuckCell: () => {
      log.error("a Worker is inside native code that cannot be stopped; the node restarts");
      restartProcess();
    },
  });
  if (flags.testClock) log.warn("this node runs on a test clock: nothing that waits happens until the clock is moved");
  await writeNote(config.data, node);
  announce(node, flags.json === true);
  await untilSignal();
  log.info("stopping", { drainSeconds: config.drainSeconds });
  await node.stop(config.drainSeconds * 1_000);
  // The last lines get out, unless nobody reads them.
  await Promise.race([sink.flush(), new Promise<void>((resolve) => clock.after(LAST_LINES_MS, resolve))]);
  process.exit(0);
}

/** What the commands of this machine find the node by. */
async function writeNote(data: string, node: Node): Promise<void> {
  const { http, https, baseUrl, caFile, adminTokenFile } = node;
  const note = { http, https, baseUrl, caFile, adminTokenFile, pid: process.pid };
  await writeDurable(join(data, "node.json"), `${JSON.stringify(note)}\n`, 0o600);
}

function announce(node: Node, json: boolean): void {
  const { http, https, baseUrl, adminTokenFile } = node;
  if (json) printJson({ event: "ready", http, https, baseUrl, adminTokenFile, pid: process.pid });
  else printLine(`atoll is ready on ${http} and ${https}\nadmin token: ${adminTokenFile}`);
}

/** Resolves at the first SIGTERM or SIGINT; the second one ends the process at once. */
function untilSignal(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let signals = 0;
  const onSignal = (): void => {
    signals += 1;
    if (signals > 1) process.exit(1);
    resolve();
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
  return promise;
}
