import { parseArgs } from "node:util";

export const HELP = `usage: npm run bench -- [options] [row…]

Measures Atoll beside its peers on this machine. Without rows, all of them; start-* stands for all that begin so.

  --list               show the rows and the peers, and measure nothing
  --rounds <n>         how often each peer is measured (3)
  --seconds <n>        how long one measurement under load lasts (5)
  --connections <n>    open connections of a load (32)
  --peers <a,b>        only these of the others beside Atoll
  --before <checkout>  measure another checkout of Atoll as well
  --scratch <dir>      where peers keep their data (the system's temporary directory)
  --json               print the results as JSON on stdout; progress stays on stderr
  --help               show this

Results are also written to bench/results/.
`;

export interface Options {
  readonly command: "run" | "list" | "help";
  readonly rows: readonly string[];
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  /** Null: all. */
  readonly peers: readonly string[] | null;
  readonly before: string | null;
  readonly scratch: string | null;
  readonly json: boolean;
}

/** Throws a RangeError or a TypeError that says what is wrong with the command line. */
export function readOptions(args: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      list: { type: "boolean" },
      rounds: { type: "string", default: "3" },
      seconds: { type: "string", default: "5" },
      connections: { type: "string", default: "32" },
      peers: { type: "string" },
      before: { type: "string" },
      scratch: { type: "string" },
      json: { type: "boolean" },
      help: { type: "boolean", short: "h" },
    },
  });
  return {
    command: values.help === true ? "help" : values.list === true ? "list" : "run",
    rows: positionals,
    rounds: count("--rounds", values.rounds, 100),
    seconds: count("--seconds", values.seconds, 3_600),
    connections: count("--connections", values.connections, 10_000),
    peers: values.peers?.split(",") ?? null,
    before: values.before ?? null,
    scratch: values.scratch ?? null,
    json: values.json === true,
  };
}

function count(flag: string, text: string, max: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > max) throw new RangeError(`${flag} takes a number from 1 to ${max}`);
  return value;
}
