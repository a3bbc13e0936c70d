// What a run comes to: a table for people, an object for machines.
import type { Metric, Row } from "./row.ts";
import { advantage, type Series, type Summary, summarize, valuesOf } from "./stats.ts";

export interface MetricResult {
  readonly name: string;
  readonly unit: string;
  readonly better: Metric["better"];
  readonly peers: Readonly<Record<string, Summary & { readonly samples: readonly number[] }>>;
  /** How many times better the first peer is than each other one; above 1 is in its favour. */
  readonly advantage: Readonly<Record<string, Summary>>;
}

export interface RowResult {
  readonly name: string;
  readonly title: string;
  readonly gives: Readonly<Record<string, string>>;
  readonly metrics: readonly MetricResult[];
}

/** The first of `series` is the one that the ratios are about. */
export function resultOf(row: Row, series: readonly Series[]): RowResult {
  const [subject, ...others] = series;
  if (subject === undefined) throw new RangeError(`${row.name}: nobody was measured`);
  return {
    name: row.name,
    title: row.title,
    gives: Object.fromEntries(series.map(({ peer }) => [peer, row.gives[peer] ?? ""])),
    metrics: row.metrics.map((metric) => ({
      ...metric,
      peers: Object.fromEntries(
        series.map((one) => {
          const samples = valuesOf(one, metric);
          return [one.peer, { ...summarize(samples), samples }];
        }),
      ),
      advantage: Object.fromEntries(others.map((other) => [other.peer, advantage(metric, subject, other)])),
    })),
  };
}

/** The row as text: what was asked, what each side gives, and a table. */
export function textOf({ name, title, gives, metrics }: RowResult): string {
  const peers = Object.keys(gives);
  const others = peers.slice(1);
  const head = ["", ...peers, ...others.map((peer) => `better than ${peer}`)];
  const lines = metrics.map((metric) => [
    `${metric.name} (${metric.unit})`,
    ...peers.map((peer) => spread(metric.peers[peer])),
    ...others.map((peer) => ratio(metric.advantage[peer])),
  ]);
  const widths = head.map((_, column) => Math.max(...[head, ...lines].map((line) => line[column]?.length ?? 0)));
  const table = [head, ...lines].map((line) =>
    `  ${line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")}`.trimEnd(),
  );
  const sides = peers.map((peer) => `  ${peer}: ${gives[peer]}`);
  return [`${name}: ${title}`, ...sides, ...table].join("\n");
}

function spread(summary: Summary | undefined): string {
  if (summary === undefined) return "";
  return `${shown(summary.median)} (${shown(summary.min)} – ${shown(summary.max)})`;
}

function ratio(summary: Summary | undefined): string {
  if (summary === undefined) return "";
  return `× ${summary.median.toFixed(2)} (${summary.min.toFixed(2)} – ${summary.max.toFixed(2)})`;
}

function shown(value: number): string {
  if (value >= 1_000) return Math.round(value).toLocaleString("en-US");
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
