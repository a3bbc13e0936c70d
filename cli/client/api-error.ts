import type { Operation, Problem } from "./host-types.ts";

/** The node refused the request, or its Operation failed: an answer, not an accident. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly code: string;
  readonly operationId: string | undefined;
  readonly hint: string | undefined;

  constructor(
    code: string,
    message: string,
    more: { status?: number; operationId?: string | undefined; hint?: string | undefined } = {},
  ) {
    super(message);
    this.code = code;
    this.status = more.status ?? 0;
    this.operationId = more.operationId;
    this.hint = more.hint;
  }

  static ofProblem(problem: Problem): ApiError {
    const { status, code, operationId } = problem;
    return new ApiError(code, problem.detail ?? problem.title, { status, operationId, hint: HINTS[code] });
  }

  static ofOperation(operation: Operation): ApiError {
    const { code = "failed", message = "the Operation failed" } = operation.error ?? {};
    return new ApiError(code, message, {
      operationId: operation.id,
      hint: `look at it with 'atoll operations show ${operation.id}'`,
    });
  }
}

const HINTS: Readonly<Record<string, string>> = {
  unauthenticated: "give a valid token with --token-file, or use the data directory of a local node with --data",
  forbidden: "use a token whose principal has this Space, or an admin's",
};

/** Nobody answered as a node would. */
export class UnreachableError extends Error {
  override readonly name = "UnreachableError";
  readonly hint: string | undefined;

  constructor(message: string, hint?: string) {
    super(message);
    this.hint = hint;
  }
}
