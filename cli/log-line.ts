import type { LogRecord } from "./client/log-client.ts";
import { visible } from "./visible.ts";

const DIM = "\u001b[2m";
const BOLD = "\u001b[1m";
const RED = "\u001b[31m";
const GREEN = "\u001b[32m";
const YELLOW = "\u001b[33m";
const RESET = "\u001b[0m";

const LEVEL_COLOURS: Readonly<Record<string, string>> = { debug: DIM, info: "", warn: YELLOW, error: RED };

/** One entry as a person reads it: `12:00:00.123 hello GET /path 200 3.1 ms`, or with level and message. */
export function logLine(record: LogRecord, colour: boolean): string {
  const paint = (code: string, text: string): string => (colour && code !== "" ? `${code}${text}${RESET}` : text);
  const { time, worker, space } = record;
  const who = space === "default" ? worker : `${space}/${worker}`;
  const head = `${paint(DIM, time.slice(11, 23))} ${paint(BOLD, who)}`;
  if (record.kind !== "request") {
    const level = paint(LEVEL_COLOURS[record.level] ?? "", record.level.padEnd(5));
    return `${head} ${level} ${visible(record.message)}`;
  }
  const { method, path, status, durationMs, outcome } = record;
  const statusColour = status >= 500 ? RED : status >= 400 ? YELLOW : GREEN;
  const duration = paint(DIM, `${durationMs < 10 ? durationMs.toFixed(1) : Math.round(durationMs)} ms`);
  const end = outcome === "ok" ? "" : ` ${paint(RED, outcome)}`;
  return `${head} ${method} ${visible(path)} ${paint(statusColour, String(status))} ${duration}${end}`;
}
