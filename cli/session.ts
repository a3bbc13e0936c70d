// What every client command shares: the options that name a node, and the open client.
import { type Command, InvalidArgumentError, Option } from "commander";
import { SystemClock } from "../base/clock.ts";
import { SystemRandom } from "../base/random.ts";
import { HostClient } from "./client/host-client.ts";
import { type LocationFlags, locateNode } from "./client/node-location.ts";
import { OperatorClient } from "./client/operator-client.ts";

export interface SessionFlags extends LocationFlags {
  readonly json?: boolean;
  /** Seconds. */
  readonly wait: number;
}

export interface Session {
  readonly client: HostClient;
  readonly operator: OperatorClient;
  /** Progress on stderr, so that stdout holds the result alone. */
  readonly say: (line: string) => void;
}

const WAIT_SECONDS_DEFAULT = 300;

/** Adds the options of every command that talks to a node, behind its own. */
export function withNode(command: Command): Command {
  return command
    .option("--data <dir>", "data directory of the local node (default: .atoll/data, or ATOLL_DATA)")
    .option("--url <url>", "origin of a node elsewhere, with a token (or ATOLL_URL)")
    .option("--token-file <file>", "file that holds the token (or ATOLL_TOKEN, ATOLL_TOKEN_FILE)")
    .option("--ca-file <file>", "certificate authority to trust for --url (PEM)")
    .addOption(
      new Option("--wait <seconds>", "how long to wait for the node").argParser(seconds).default(WAIT_SECONDS_DEFAULT),
    )
    .option("--json", "print the result as JSON");
}

export async function openSession(flags: SessionFlags): Promise<Session> {
  const location = await locateNode(flags, process.env, process.cwd());
  const client = await HostClient.connect({
    location,
    fetch: (url, init) => fetch(url, init),
    clock: new SystemClock(),
    random: new SystemRandom(),
    patienceMs: flags.wait * 1_000,
  });
  return {
    client,
    operator: new OperatorClient(client.transport, location),
    say: (line) => void process.stderr.write(`${line}\n`),
  };
}

function seconds(text: string): number {
  if (!/^\d{1,6}$/.test(text) || Number(text) === 0) throw new InvalidArgumentError("write a whole number of seconds.");
  return Number(text);
}
