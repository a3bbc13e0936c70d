// Codes become problem documents (RFC 9457) here, and only here a code meets an HTTP status (HA-148 … HA-168).
import { AtollError, type ErrorCode } from "../base/errors.ts";
import type { Logger } from "../base/log.ts";
import { OperationRefusal } from "../control/operations/operation-refusal.ts";
import { StrictJsonError } from "../base/strict-json.ts";
import { NO_STORE } from "./response.ts";

export interface Problem {
  readonly type: "about:blank";
  readonly title: string;
  readonly status: number;
  readonly code: string;
  readonly detail?: string;
  readonly operationId?: string;
}

/** Status and title. A code without an entry never reaches a client under its own name. */
const PROBLEMS = {
  invalid_request: [400, "The request is malformed"],
  unauthenticated: [401, "Authentication is required"],
  forbidden: [403, "The caller lacks the authority"],
  not_found: [404, "There is no such thing"],
  capability_unavailable: [404, "This Host does not offer that"],
  method_not_allowed: [405, "The method is not allowed here"],
  name_conflict: [409, "The name is taken"],
  generation_conflict: [409, "The generation is another one"],
  resource_busy: [409, "An Operation on the Resource is unfinished"],
  idempotency_conflict: [409, "The idempotency key belongs to a different request"],
  offering_changed: [409, "The Offering has changed"],
  dependency_conflict: [409, "Another Resource stands in the way"],
  private_inputs_conflict: [409, "The private inputs differ from the original ones"],
  private_inputs_unverifiable: [409, "The private inputs can no longer be compared"],
  operation_terminal: [409, "The Operation has settled"],
  cursor_expired: [409, "The cursor has expired"],
  gone: [410, "It is gone"],
  request_too_large: [413, "The request is too large"],
  unsupported_media_type: [415, "The media type is not supported"],
  unsupported_form: [422, "The Form is not supported"],
  invalid_spec: [422, "The spec is not valid for its Form"],
  capability_required: [422, "The request needs a capability that is not offered"],
  artifact_digest_mismatch: [422, "The bytes do not have that digest"],
  artifact_limit_exceeded: [413, "The artifact is too large"],
  expected_generation_required: [428, "The expected generation is missing"],
  rate_limited: [429, "Too many requests"],
  internal_error: [500, "The Host failed"],
  temporarily_unavailable: [503, "The Host is not available right now"],
} as const satisfies Partial<Record<ErrorCode, readonly [number, string]>>;

type ProblemCode = keyof typeof PROBLEMS;

/** Seconds after which a refused caller may try again (HA-32). */
const RETRY_AFTER_SECONDS = 1;

/** The permitted methods of a path, as an error that carries them to the `Allow` header (HA-34). */
export class MethodNotAllowed extends AtollError {
  readonly allow: readonly string[];

  constructor(allow: readonly string[]) {
    super("method_not_allowed", `this path takes ${allow.join(", ")}`);
    this.allow = allow;
  }
}

/**
 * Any error as a response. What was not meant for the outside becomes `internal_error` without details (HA-151) and
 * is logged.
 */
export function problemResponse(error: unknown, log: Logger): Response {
  const problem = problemOf(error, log);
  const headers = new Headers({ "content-type": "application/problem+json", ...NO_STORE });
  if (problem.status === 401) headers.set("www-authenticate", 'Bearer realm="atoll"');
  if (problem.status === 429 || problem.status === 503) headers.set("retry-after", String(RETRY_AFTER_SECONDS));
  if (error instanceof MethodNotAllowed) headers.set("allow", error.allow.join(", "));
  return new Response(JSON.stringify(problem), { status: problem.status, headers });
}

function problemOf(error: unknown, log: Logger): Problem {
  if (error instanceof StrictJsonError) return problem("invalid_request", error.message);
  if (error instanceof AtollError && isProblemCode(error.code) && error.code !== "internal_error") {
    const detail = error.hint === undefined ? sentence(error.message) : `${sentence(error.message)} ${error.hint}`;
    return problem(error.code, detail, error instanceof OperationRefusal ? error.operationId : undefined);
  }
  log.error("a request failed unexpectedly", { error });
  return problem("internal_error");
}

function problem(code: ProblemCode, detail?: string, operationId?: string): Problem {
  const [status, title] = PROBLEMS[code];
  return {
    type: "about:blank",
    title,
    status,
    code,
    ...(detail === undefined ? {} : { detail }),
    ...(operationId === undefined ? {} : { operationId }),
  };
}

function isProblemCode(code: string): code is ProblemCode {
  return Object.hasOwn(PROBLEMS, code);
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
