const COLOURS: Readonly<Record<string, string>> = {
  debug: "\u001b[90m",
  info: "\u001b[36m",
  warn: "\u001b[33m",
  error: "\u001b[31m",
};
const DIM = "\u001b[2m";
const RESET = "\u001b[0m";

/** One JSON log line as a person reads it: `12:00:00.123 warn  message  field=value`. */
export function prettyLine(line: string, colour: boolean): string {
  const { time, level, message, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const paint = (code: string, text: string): string => (colour && text !== "" ? `${code}${text}${RESET}` : text);
  const label = String(level);
  const rest = Object.entries(fields).map(([name, value]) => `${name}=${fieldText(value)}`);
  const parts = [
    paint(DIM, String(time).slice(11, 23)),
    paint(COLOURS[label] ?? "", label.padEnd(5)),
    printable(String(message)),
    paint(DIM, rest.join(" ")),
  ];
  return `${parts.filter((part) => part !== "").join(" ")}\n`;
}

function fieldText(value: unknown): string {
  if (typeof value !== "string") return printable(JSON.stringify(value));
  return /^[\w.:/@-]+$/.test(value) ? value : printable(JSON.stringify(value));
}

/** Log lines carry words of tenants; their control characters must not reach the terminal. */
function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
