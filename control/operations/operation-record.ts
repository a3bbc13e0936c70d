// Between an Operation's life and its row in the store: reads one, applies a change, writes the other.
import { InvariantViolation, invariant } from "../../base/invariant.ts";
import { isSettled, type OperationRow } from "../../storage/control/records.ts";
import { next, type OperationChange, type OperationLife } from "./operation-life.ts";

/**
 * The row after `change` at `nowMs`. Retention (HA-123 … HA-125, HA-A19): a settled Operation stays a full window from
 * now, the longer of today's window and the one promised at acceptance; an unfinished one moves its promise only when
 * it would lie in the past. Throws InvariantViolation for a change that is not legal.
 */
export function changed(row: OperationRow, change: OperationChange, nowMs: number, windowMs: number): OperationRow {
  const life = next(lifeOf(row), change);
  const settled = isSettled(life.status);
  const kept = settled ? Math.max(windowMs, row.windowMs) : row.windowMs;
  const renewed = settled || row.retainUntilMs < nowMs;
  return {
    ...row,
    status: life.status,
    effect: life.effect,
    updatedAtMs: Math.max(nowMs, row.updatedAtMs),
    retainUntilMs: renewed ? Math.max(row.retainUntilMs, nowMs + kept) : row.retainUntilMs,
    errorCode: "error" in life ? (life.error?.code ?? null) : null,
    errorMessage: "error" in life ? (life.error?.message ?? null) : null,
    inputReason: life.status === "waiting_input" ? life.reason : null,
  };
}

/** Reads the row back strictly: a row that says what no life can say is damage, not a state. */
export function lifeOf(row: OperationRow): OperationLife {
  const { status, effect } = row;
  const error =
    row.errorCode === null || row.errorMessage === null ? null : { code: row.errorCode, message: row.errorMessage };
  switch (status) {
    case "queued":
      if (effect === "none" || effect === "partial") return { status, effect };
      break;
    case "running":
      if (effect !== "complete") return { status, effect };
      break;
    case "waiting_input":
      invariant(row.inputReason !== null, "a waiting operation knows why");
      if (effect === "none" || effect === "partial") return { status, effect, reason: row.inputReason };
      break;
    case "reconciling":
      if (effect !== "complete") return { status, effect, error };
      break;
    case "succeeded":
      if (effect === "complete") return { status, effect };
      break;
    case "failed":
      invariant(error !== null, "a failed operation has an error");
      if (effect === "none" || effect === "partial") return { status, effect, error };
      break;
  }
  throw new InvariantViolation(`operation: ${status} with effect ${effect}`);
}
