import { CommanderError } from "commander";
import { AtollError } from "../base/errors.ts";
import { ApiError, UnreachableError } from "./client/api-error.ts";
import { BuildError } from "./deploy/build-error.ts";
import { UsageError } from "./usage-error.ts";

interface Failure {
  readonly code: string;
  readonly message: string;
  readonly hint?: string | undefined;
  readonly operationId?: string | undefined;
}

const FAILED = 1;
const MISUSED = 2;

/** One plain line on stderr, or with `--json` one JSON object there. Returns the exit code. */
export function reportFailure(error: unknown, json: boolean): number {
  if (error instanceof CommanderError) return reportMisuse(error, json);
  const failure = failureOf(error);
  process.stderr.write(`${json ? JSON.stringify({ error: failure }) : lineOf(failure)}\n`);
  return error instanceof UsageError ? MISUSED : FAILED;
}

function reportMisuse(error: CommanderError, json: boolean): number {
  if (error.exitCode === 0) return 0;
  // A command without its subcommand has shown its help already.
  if (error.code === "commander.help") return MISUSED;
  const text = error.message.replace(/^error: /, "").replace(/\.?\n\(Did you mean (.*)\?\)/s, "; did you mean $1?");
  return reportFailure(new UsageError(text), json);
}

function failureOf(error: unknown): Failure {
  if (error instanceof UsageError) return { code: "usage", message: error.message };
  if (error instanceof BuildError) return { code: "build_failed", message: error.message };
  if (error instanceof UnreachableError) return { code: "unreachable", message: error.message, hint: error.hint };
  if (error instanceof ApiError) {
    const { code, message, hint, operationId } = error;
    return { code, message, hint, operationId };
  }
  if (error instanceof AtollError) return { code: error.code, message: error.message, hint: error.hint };
  return {
    code: "internal_error",
    message: error instanceof Error ? `${error.name}: ${error.message}` : String(error),
  };
}

function lineOf({ code, message, hint }: Failure): string {
  const sentence = message.replace(/\s*\n\s*/g, ", ").replace(/[.\s]+$/, "");
  const label = code === "usage" || code === "build_failed" || code === "unreachable" ? "" : `${code}: `;
  return `atoll: ${label}${sentence}${hint === undefined ? "" : `; ${hint.replace(/[.\s]+$/, "")}`}`;
}
