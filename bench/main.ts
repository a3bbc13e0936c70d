// The bench: Atoll and its peers on this machine, measured in turn. See docs/performance.md.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describeMachine } from "./machine.ts";
import { measure } from "./measure.ts";
import { HELP, type Options, readOptions } from "./options.ts";
import type { Peer } from "./peer.ts";
import { allPeers, ATOLL, BEFORE, BINARY } from "./peers/registry.ts";
import { resultOf, type RowResult, textOf } from "./report.ts";
import type { Row } from "./row.ts";
import { ALL_ROWS, selectRows } from "./rows/registry.ts";

const RESULTS = new URL("./results/", import.meta.url).pathname;

async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args);
  const rows = selectRows(ALL_ROWS, options.rows);
  const peers = selectPeers(options);
  if (options.command === "help") process.stdout.write(HELP);
  else if (options.command === "list") list(rows, peers);
  else return await run(options, rows, peers);
  return 0;
}

function selectPeers({ before, peers }: Options): Peer[] {
  const all = allPeers(before === null ? null : resolve(before));
  if (peers === null) return all;
  for (const name of peers) {
    if (!all.some((peer) => peer.name === name)) throw new RangeError(`there is no peer ${name}`);
  }
  return all.filter(({ name }) => [ATOLL, BINARY, BEFORE].includes(name) || peers.includes(name));
}

function list(rows: readonly Row[], peers: readonly Peer[]): void {
  const width = Math.max(...rows.map(({ name }) => name.length));
  for (const { name, title } of rows) console.log(`${name.padEnd(width)}  ${title}`);
  console.log(`\npeers: ${peers.map(({ name }) => name).join(", ")}`);
}

async function run(options: Options, rows: readonly Row[], peers: readonly Peer[]): Promise<number> {
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  const machine = describeMachine();
  const startedAt = new Date().toISOString();
  const versions: Record<string, string> = {};
  for (const peer of peers) versions[peer.name] = await peer.version();
  const results: RowResult[] = [];
  const failed: { readonly name: string; readonly why: string }[] = [];
  const scratch = mkdtempSync(join(options.scratch ?? tmpdir(), "atoll-bench-"));
  process.once("exit", () => rmSync(scratch, { recursive: true, force: true }));
  for (const row of rows) {
    try {
      const series = await measure(
        row,
        peers.filter(({ name }) => name in row.gives),
        { ...options, scratch, say },
      );
      const result = resultOf(row, series);
      results.push(result);
      if (!options.json) console.log(`\n${textOf(result)}\n`);
    } catch (error) {
      failed.push({ name: row.name, why: error instanceof Error ? error.message : String(error) });
      say(`${row.name}: failed: ${failed.at(-1)?.why}`);
    }
  }
  const { rounds, seconds, connections } = options;
  const all = { startedAt, machine, versions, settings: { rounds, seconds, connections }, rows: results, failed };
  const text = `${JSON.stringify(all, null, 2)}\n`;
  mkdirSync(RESULTS, { recursive: true });
  const file = join(RESULTS, `${startedAt.replaceAll(":", "-")}.json`);
  writeFileSync(file, text);
  if (options.json) process.stdout.write(text);
  say(`results: ${file}`);
  return failed.length === 0 ? 0 : 1;
}

try {
  process.exit(await main(process.argv.slice(2)));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(2);
}
