// What commands print on stdout.

export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

export function printLine(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Columns as wide as their widest value, headings first. */
export function printTable(headings: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = headings.map((heading, i) => Math.max(heading.length, ...rows.map((row) => (row[i] ?? "").length)));
  for (const row of [headings.map((heading) => heading.toUpperCase()), ...rows]) {
    printLine(
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join("  ")
        .trimEnd(),
    );
  }
}

/** One `name  value` a line, values aligned; objects as indented JSON. */
export function printFields(fields: Readonly<Record<string, unknown>>): void {
  const width = Math.max(...Object.keys(fields).map((name) => name.length));
  for (const [name, value] of Object.entries(fields)) {
    const text = typeof value === "object" && value !== null ? JSON.stringify(value, null, 2) : String(value);
    printLine(`${name.padEnd(width)}  ${text.replaceAll("\n", `\n${" ".repeat(width + 2)}`)}`);
  }
}
