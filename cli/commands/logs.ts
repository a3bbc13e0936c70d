import { Command, InvalidArgumentError, Option } from "commander";
import { SystemClock } from "../../base/clock.ts";
import { LOG_KINDS, LOG_LEVELS } from "../../runtime/logs/log-filter.ts";
import { LogClient, type LogEvent } from "../client/log-client.ts";
import { logLine } from "../log-line.ts";
import { openSession, type SessionFlags, withNode } from "../session.ts";

interface LogsFlags extends SessionFlags {
  readonly follow?: boolean;
  readonly level?: string;
  readonly kind?: readonly string[];
  readonly tail?: string;
  readonly since?: string;
  readonly space?: string;
  readonly invocation?: string;
  readonly workerVersion?: string;
}

/** What is shown of the past when nobody says how much. */
const TAIL_DEFAULT = "100";
const TAIL_DEFAULT_FOLLOWING = "10";

export function logsCommand(): Command {
  const command = new Command("logs")
    .description("show what Workers print, throw and answer")
    .argument("[worker]", "name or uid of one Worker (default: all)")
    .option("-f, --follow", "go on with what comes, until interrupted")
    .addOption(new Option("--level <level>", "this level and those above it").choices(LOG_LEVELS))
    .addOption(new Option("--kind <kinds...>", "only entries of these kinds").choices(LOG_KINDS))
    .addOption(
      new Option("--tail <n>", "the newest n entries that are kept (default: 100, with --follow 10)").argParser(count),
    )
    .option("--since <time>", "entries from then on: a duration such as 10m, or an RFC 3339 instant")
    .option("--space <name>", "only of this Space")
    .option("--worker-version <version>", "only of this Version: its name or uid")
    .option("--invocation <id>", "only of this invocation")
    .action(run);
  return withNode(command);
}

async function run(worker: string | undefined, flags: LogsFlags): Promise<void> {
  const { client, say } = await openSession(flags);
  const logs = new LogClient(client.transport, client.location, new SystemClock());
  // `atoll logs | head` is over when head is.
  process.stdout.once("error", () => process.exit(0));
  const colour = process.stdout.isTTY && !process.env["NO_COLOR"];
  for await (const event of logs.events({ query: queryOf(worker, flags), follow: flags.follow === true })) {
    if (event.type === "broken" && flags.follow) say(`atoll: the connection is lost (${event.why}); trying again`);
    const line = flags.json ? jsonLine(event) : peopleLine(event, colour);
    // A reader that is slow here makes the node drop and count, and not this process grow.
    if (line !== null && !process.stdout.write(`${line}\n`)) await drained();
  }
}

function queryOf(worker: string | undefined, flags: LogsFlags): Readonly<Record<string, string>> {
  const { level, kind, since, space, invocation, workerVersion, follow } = flags;
  const tail = flags.tail ?? (since !== undefined ? undefined : follow ? TAIL_DEFAULT_FOLLOWING : TAIL_DEFAULT);
  const given = { worker, level, kind: kind?.join(","), since, space, invocation, version: workerVersion, tail };
  const query: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) if (value !== undefined) query[name] = value;
  return query;
}

function jsonLine(event: LogEvent): string | null {
  switch (event.type) {
    case "entry":
      return JSON.stringify(event.record);
    case "dropped":
      return JSON.stringify({ kind: "dropped", count: event.count });
    case "gap":
      return JSON.stringify({ kind: "gap", reason: event.reason });
    default:
      return null;
  }
}

function peopleLine(event: LogEvent, colour: boolean): string | null {
  switch (event.type) {
    case "entry":
      return logLine(event.record, colour);
    case "dropped":
      return `… ${event.count} ${event.count === 1 ? "entry" : "entries"} dropped: this terminal is slower than the Workers`;
    case "gap":
      return `… entries are missing here: ${event.reason}`;
    default:
      return null;
  }
}

function drained(): Promise<void> {
  return new Promise((resolve) => void process.stdout.once("drain", resolve));
}

function count(text: string): string {
  if (!/^\d{1,5}$/.test(text)) throw new InvalidArgumentError("write a whole number.");
  return text;
}
