// The Prometheus text format, written by hand: the counters of this node are plain fields that cost an addition on the
// path of a request, and a page of text is made of them when somebody asks. The usual client library keeps values by
// hashed labels instead, which costs as much as the rest of a request's bookkeeping, and takes a third of the time in
// which a node starts.

export type Labels = Readonly<Record<string, string>>;
export type Sample = readonly [labels: Labels, value: number];

export interface Metric {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge";
  readonly samples: readonly Sample[];
}

export interface HistogramMetric {
  readonly name: string;
  readonly help: string;
  readonly type: "histogram";
  /** Upper bounds, rising, in the unit of the name; one count more than bounds, not cumulative. */
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
  readonly sum: number;
}

export function exposition(metrics: readonly (Metric | HistogramMetric)[]): string {
  return metrics
    .map(
      (metric) =>
        `${header(metric)}${lines(metric)
          .map((line) => `${line}\n`)
          .join("")}`,
    )
    .join("");
}

function header({ name, help, type }: Metric | HistogramMetric): string {
  return `# HELP ${name} ${help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}\n# TYPE ${name} ${type}\n`;
}

function lines(metric: Metric | HistogramMetric): readonly string[] {
  const { name } = metric;
  if (metric.type !== "histogram") return metric.samples.map(([labels, value]) => line(name, labels, value));
  let total = 0;
  const buckets = metric.counts.map((count, i) => {
    total += count;
    return line(`${name}_bucket`, { le: String(metric.bounds[i] ?? "+Inf") }, total);
  });
  return [...buckets, line(`${name}_sum`, {}, metric.sum), line(`${name}_count`, {}, total)];
}

function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
  return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}`;
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
