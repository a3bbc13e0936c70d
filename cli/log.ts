// The node's log on stderr: JSON lines for machines, short lines for people at a terminal.
import { type DestinationStream, type Logger as Pino, pino } from "pino";
import { type Clock, rfc3339 } from "../base/clock.ts";
import type { Fields, Logger } from "../base/log.ts";
import { prettyLine } from "./pretty-line.ts";
import { redact } from "./redact.ts";

export interface LogOptions {
  readonly level: "debug" | "info" | "warn" | "error";
  /** `lines`: one JSON object a line. `people`: time, level, message and fields. */
  readonly format: "lines" | "people";
  readonly clock: Clock;
  /** Where lines go: a StderrSink. */
  readonly sink: DestinationStream;
  /** Colours for `people`. */
  readonly colour?: boolean;
}

export function createLogger(options: LogOptions): Logger {
  const { clock, sink, colour = false } = options;
  const stream = options.format === "lines" ? sink : { write: (line: string) => sink.write(prettyLine(line, colour)) };
  const settings = {
    level: options.level,
    base: null,
    messageKey: "message",
    timestamp: () => `,"time":"${rfc3339(clock.nowMs())}"`,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  return new PinoLogger(pino(settings, stream), {});
}

class PinoLogger implements Logger {
  readonly #pino: Pino;
  // Kept here and not in a pino child, which would write a name twice when a line has it too.
  readonly #fields: Fields;

  constructor(target: Pino, fields: Fields) {
    this.#pino = target;
    this.#fields = fields;
  }

  debug(message: string, fields?: Fields): void {
    this.#write("debug", message, fields);
  }

  info(message: string, fields?: Fields): void {
    this.#write("info", message, fields);
  }

  warn(message: string, fields?: Fields): void {
    this.#write("warn", message, fields);
  }

  error(message: string, fields?: Fields): void {
    this.#write("error", message, fields);
  }

  with(fields: Fields): Logger {
    return new PinoLogger(this.#pino, { ...this.#fields, ...clean(fields) });
  }

  #write(level: "debug" | "info" | "warn" | "error", message: string, fields: Fields | undefined): void {
    if (!this.#pino.isLevelEnabled(level)) return;
    this.#pino[level]({ ...this.#fields, ...clean(fields) }, message);
  }
}

/** Names that make the line itself are not a field's to take: a tenant's field must not forge a level or a time. */
const RESERVED = ["level", "time", "message"];

function clean(fields: Fields | undefined): Fields {
  const copy = redact(fields ?? {}) as Record<string, unknown>;
  for (const name of RESERVED) {
    if (!(name in copy)) continue;
    copy[`${name}_`] = copy[name];
    delete copy[name];
  }
  return copy;
}
