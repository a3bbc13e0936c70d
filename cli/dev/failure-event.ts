import { isAbsolute, relative } from "node:path";
import { ApiError } from "../client/api-error.ts";
import { BuildError } from "../deploy/build-error.ts";
import { codeFrame } from "./code-frame.ts";
import type { DevEvent } from "./dev-event.ts";

/** A failed build or deployment as the author should see it. */
export function failureEvent(
  worker: string,
  error: unknown,
  options: { readonly cwd: string; readonly colour: boolean; readonly sourceOf: (file: string) => string | null },
): Extract<DevEvent, { event: "build_failed" }> {
  if (error instanceof BuildError && error.place !== null) {
    const { line, column, length, lineText } = error.place;
    const file = shortPath(error.place.file, options.cwd);
    // A source that cannot be read again still has the line at fault, on the line where it stands.
    const source = options.sourceOf(error.place.file) ?? `${"\n".repeat(line - 1)}${lineText}`;
    const frame = codeFrame({ source, line, column, length }, options.colour);
    const says = error.bare === error.message ? error.message : `${file}:${line}:${column}: ${error.bare}`;
    return { event: "build_failed", worker, message: says, place: { file, line, column }, frame };
  }
  return { event: "build_failed", worker, message: messageOf(error) };
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof ApiError && error.hint !== undefined) return `${error.code}: ${error.message}; ${error.hint}`;
  return error instanceof ApiError ? `${error.code}: ${error.message}` : error.message;
}

function shortPath(file: string, cwd: string): string {
  const short = relative(cwd, file);
  return short.startsWith("..") || isAbsolute(short) ? file : short;
}
