import type { LogEntry } from "../../runtime/logs/log-entry.ts";
import { codeFrame } from "./code-frame.ts";
import type { DevEvent } from "./dev-event.ts";
import type { SourcePositions } from "./source-positions.ts";

/** What a Worker printed, threw or answered, with places in the author's sources. */
export function logEvent(entry: LogEntry, positions: SourcePositions | null, colour: boolean): DevEvent {
  const { worker } = entry;
  if (entry.kind === "request") {
    const { method, path, status, durationMs } = entry;
    return { event: "request", worker, method, path, status, ms: Math.round(durationMs * 10) / 10 };
  }
  const { level } = entry;
  const { text: message, first } = positions?.map(entry.message) ?? { text: entry.message, first: null };
  const event = { event: entry.kind, worker, level, message };
  if (first === null) return event;
  const { file, line, column, source } = first;
  // A frame belongs to what went wrong; a stack that was only printed says enough with its places.
  const wantsFrame = source !== null && entry.kind === "error";
  return {
    ...event,
    place: { file, line, column },
    ...(wantsFrame ? { frame: codeFrame({ source, line, column }, colour) } : {}),
  };
}
