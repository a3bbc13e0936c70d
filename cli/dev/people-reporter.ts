// What `atoll dev` prints for a person.
import type { Clock } from "../../base/clock.ts";
import { visible } from "../visible.ts";
import type { DevEvent, Reporter } from "./dev-event.ts";

export interface PeopleReporterParts {
  readonly clock: Clock;
  readonly colour: boolean;
  /** Whether lines say which Worker they are about. */
  readonly severalWorkers: boolean;
  /** Keyboard shortcuts, when there is a keyboard. */
  readonly keys: string | null;
  readonly print: (text: string) => void;
}

const DIM = "\u001b[2m";
const BOLD = "\u001b[1m";
const RED = "\u001b[31m";
const GREEN = "\u001b[32m";
const YELLOW = "\u001b[33m";
const CYAN = "\u001b[36m";
const RESET = "\u001b[0m";

const LEVEL_COLOURS: Readonly<Record<string, string>> = { debug: DIM, info: "", warn: YELLOW, error: RED };

export class PeopleReporter implements Reporter {
  readonly #parts: PeopleReporterParts;

  constructor(parts: PeopleReporterParts) {
    this.#parts = parts;
  }

  report(event: DevEvent): void {
    const text = this.#text(event);
    if (text !== "") this.#parts.print(`${text}\n`);
  }

  #text(event: DevEvent): string {
    const { keys } = this.#parts;
    switch (event.event) {
      case "ready": {
        const head = `${this.#paint(BOLD, event.worker)} is ready on ${this.#paint(CYAN, event.url)} ${this.#paint(DIM, `in ${whole(event.ms)}`)}`;
        return keys === null ? head : `${head}\n${this.#paint(DIM, keys)}`;
      }
      case "reloaded":
        return this.#line(event, `${this.#paint(GREEN, "reloaded")} ${this.#paint(DIM, `in ${whole(event.ms)}`)}`);
      case "unchanged":
        return this.#line(event, this.#paint(DIM, "saved, and nothing to change"));
      case "restarted":
        return this.#line(null, `${this.#paint(GREEN, "restarted")} ${this.#paint(DIM, `in ${whole(event.ms)}`)}`);
      case "build_failed":
        return this.#line(
          event,
          `${this.#paint(RED, "not deployed:")} ${visible(event.message)}${framed(event.frame)}`,
        );
      case "request": {
        const { method, path, status, ms } = event;
        const colour = status >= 500 ? RED : status >= 400 ? YELLOW : GREEN;
        const line = `${method} ${visible(path)} ${this.#paint(colour, String(status))} ${this.#paint(DIM, whole(ms))}`;
        return this.#line(event, line);
      }
      case "console":
      case "error": {
        const colour = LEVEL_COLOURS[event.level] ?? "";
        return this.#line(event, `${this.#paint(colour, visible(event.message))}${framed(event.frame)}`);
      }
      case "node":
        return this.#line(null, this.#paint(YELLOW, visible(event.message)));
      default:
        return "";
    }
  }

  #line(about: { readonly worker: string } | null, text: string): string {
    const { clock, severalWorkers } = this.#parts;
    const time = this.#paint(DIM, timeOfDay(new Date(clock.nowMs())));
    return about !== null && severalWorkers ? `${time} ${this.#paint(BOLD, about.worker)} ${text}` : `${time} ${text}`;
  }

  #paint(code: string, text: string): string {
    return this.#parts.colour && code !== "" ? `${code}${text}${RESET}` : text;
  }
}

/** One JSON object a line, for programs. */
export class LinesReporter implements Reporter {
  readonly #print: (text: string) => void;

  constructor(print: (text: string) => void) {
    this.#print = print;
  }

  report(event: DevEvent): void {
    this.#print(`${JSON.stringify(event)}\n`);
  }
}

function framed(frame: string | undefined): string {
  return frame === undefined ? "" : `\n${frame}`;
}

function whole(ms: number): string {
  return ms < 10 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`;
}

/** Of the person's own day. */
function timeOfDay(date: Date): string {
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((n) => String(n).padStart(2, "0")).join(":");
}
