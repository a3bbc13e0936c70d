// The lines around a place in a source, with the place marked: what a person looks for first.

export interface Frame {
  /** Content of the whole source. */
  readonly source: string;
  /** Both count from 1. */
  readonly line: number;
  readonly column: number;
  /** Characters to mark; at least 1. */
  readonly length?: number;
}

const LINES_AROUND = 2;
const COLUMNS_MAX = 160;
const RED = "\u001b[31m";
const DIM = "\u001b[2m";
const RESET = "\u001b[0m";

export function codeFrame({ source, line, column, length = 1 }: Frame, colour: boolean): string {
  const paint = (code: string, text: string): string => (colour ? `${code}${text}${RESET}` : text);
  const lines = source.split(/\r?\n/);
  const first = Math.max(1, line - LINES_AROUND);
  const last = Math.min(lines.length, line + LINES_AROUND);
  const width = String(last).length;
  const shown: string[] = [];
  for (let number = first; number <= last; number++) {
    const text = (lines[number - 1] ?? "").replaceAll("\t", "  ").slice(0, COLUMNS_MAX);
    const gutter = `${number === line ? ">" : " "} ${String(number).padStart(width)} |`;
    shown.push(`${paint(number === line ? RED : DIM, gutter)} ${text}`.trimEnd());
    if (number !== line) continue;
    // A tab is shown as two columns, so what stands before the mark has to be measured as it is shown.
    const before = (lines[number - 1] ?? "").slice(0, column - 1).replaceAll("\t", "  ").length;
    const mark = "^".repeat(Math.max(1, Math.min(length, text.length - before)));
    if (before < COLUMNS_MAX)
      shown.push(`${paint(DIM, `  ${" ".repeat(width)} |`)} ${" ".repeat(before)}${paint(RED, mark)}`);
  }
  return shown.join("\n");
}
