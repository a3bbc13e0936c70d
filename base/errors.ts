// One table of codes. A code tells what is known to have happened, hence what the receiver may do; retry logic asks
// for the verdict and never reads a message.

/** What is known to have happened, and so what the receiver may do. Each code has exactly one. */
export type Verdict =
  | "refused" // nothing happened; the same request will be refused again
  | "try_again" // nothing happened; the same request may succeed later
  | "elsewhere" // nothing happened here; ask placement who owns it now
  | "unknown"; // something may have happened; reconcile, never resend it as new

const VERDICTS = {
  // Host API (HA-152 … HA-168)
  invalid_request: "refused",
  unauthenticated: "refused",
  forbidden: "refused",
  not_found: "refused",
  capability_unavailable: "refused",
  method_not_allowed: "refused",
  name_conflict: "refused",
  generation_conflict: "refused",
  resource_busy: "try_again",
  idempotency_conflict: "refused",
  offering_changed: "refused",
  dependency_conflict: "refused",
  private_inputs_conflict: "refused",
  private_inputs_unverifiable: "refused",
  operation_terminal: "refused",
  cursor_expired: "refused",
  gone: "refused",
  request_too_large: "refused",
  unsupported_media_type: "refused",
  unsupported_form: "refused",
  invalid_spec: "refused",
  capability_required: "refused",
  expected_generation_required: "refused",
  rate_limited: "try_again",
  internal_error: "unknown",
  temporarily_unavailable: "try_again",
  // Artifacts (WB-A3)
  artifact_unreachable: "try_again",
  artifact_policy_refused: "refused",
  artifact_digest_mismatch: "refused",
  artifact_limit_exceeded: "refused",
  artifact_manifest_invalid: "refused",
  // Runtime
  backend_unavailable: "try_again",
  context_expired: "refused",
  module_not_found: "refused",
  stale_epoch: "elsewhere",
  log_broken: "unknown",
  log_damaged: "refused",
  store_damaged: "refused",
  data_directory_in_use: "try_again",
  cpu_limit_exceeded: "unknown",
  egress_refused: "refused",
} as const satisfies Record<string, Verdict>;

export type ErrorCode = keyof typeof VERDICTS;

/** An operational failure that somebody must be told about. `message` is fit for the outside: no secret, no path. */
export class AtollError extends Error {
  override readonly name = "AtollError";
  readonly code: ErrorCode;
  /** One sentence for whoever has to act: what to try next. */
  readonly hint: string | undefined;

  constructor(code: ErrorCode, message: string, more: { hint?: string; cause?: unknown } = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.code = code;
    this.hint = more.hint;
  }

  get verdict(): Verdict {
    return VERDICTS[this.code];
  }
}
