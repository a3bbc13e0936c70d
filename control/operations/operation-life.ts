// The life of an accepted Operation (HA-99 … HA-105).
//
//     queued ──begin──▶ running ──succeed──▶ succeeded
//       │  ▲             │ │ ▲ └────fail────▶ failed
//       │  └─replenish─┐ │ │ └─resume─┐         ▲
//       └──need_input─▶ waiting_input │ doubt   │
//                          ▲  │       ▼         │
//                          └──┘   reconciling ──┴──▶ succeeded
//                       need_input
//
//   L1. `unknown` is never terminal and never waits for input (HA-101, HA-107).
//   L2. `succeeded` is exactly `complete`; `failed` is `none` or `partial` with an error (HA-103, HA-104).
//   L3. Nothing else is legal, also across a restart. What a rule forbids to do at once is walked step by step.
import { InvariantViolation } from "../../base/invariant.ts";
import type { Effect, InputReason } from "../../storage/control/records.ts";

export interface OperationError {
  readonly code: string;
  readonly message: string;
}

/** The step that waits was never sent, so its effect is known (L1). */
type Unsent = "none" | "partial";
type Unfinished = Exclude<Effect, "complete">;

export type OperationLife =
  | { readonly status: "queued"; readonly effect: Unsent }
  | { readonly status: "running"; readonly effect: Unfinished }
  | { readonly status: "waiting_input"; readonly effect: Unsent; readonly reason: InputReason }
  | { readonly status: "reconciling"; readonly effect: Unfinished; readonly error: OperationError | null }
  | { readonly status: "succeeded"; readonly effect: "complete" }
  | { readonly status: "failed"; readonly effect: Unsent; readonly error: OperationError };

export type OperationChange =
  | { readonly type: "begin" }
  /** The private inputs are gone, and the step that needs them was provably never sent. */
  | { readonly type: "need_input"; readonly reason: InputReason }
  | { readonly type: "replenish" }
  /** What is known about the effect so far; the status stays. */
  | { readonly type: "note"; readonly effect: Unfinished }
  /** A step may have been sent and its result is unknown. Also refreshes the explanation while reconciling. */
  | { readonly type: "doubt"; readonly effect: Unfinished; readonly error: OperationError | null }
  /** The doubt is resolved and work goes on. */
  | { readonly type: "resume"; readonly effect: Unsent }
  | { readonly type: "succeed" }
  | { readonly type: "fail"; readonly effect: Unsent; readonly error: OperationError };

/** Pure: the state after `change`. Throws InvariantViolation when the contract does not allow it. */
export function next(now: OperationLife, change: OperationChange): OperationLife {
  switch (now.status) {
    case "queued":
      if (change.type === "begin") return { status: "running", effect: now.effect };
      if (change.type === "need_input") return { status: "waiting_input", effect: now.effect, reason: change.reason };
      break;
    case "running":
      if (change.type === "note") return { status: "running", effect: change.effect };
      if (change.type === "need_input" && now.effect !== "unknown") {
        return { status: "waiting_input", effect: now.effect, reason: change.reason };
      }
      if (change.type === "doubt") return { status: "reconciling", effect: change.effect, error: change.error };
      return finish(now, change);
    case "waiting_input":
      if (change.type === "replenish") return { status: "queued", effect: now.effect };
      break;
    case "reconciling":
      if (change.type === "note") return { status: "reconciling", effect: change.effect, error: now.error };
      if (change.type === "doubt") return { status: "reconciling", effect: change.effect, error: change.error };
      if (change.type === "resume") return { status: "running", effect: change.effect };
      return finish(now, change);
    case "succeeded":
    case "failed":
      break;
  }
  throw illegal(now, change);
}

function finish(now: OperationLife, change: OperationChange): OperationLife {
  if (change.type === "succeed") return { status: "succeeded", effect: "complete" };
  if (change.type === "fail") return { status: "failed", effect: change.effect, error: change.error };
  throw illegal(now, change);
}

function illegal(now: OperationLife, change: OperationChange): InvariantViolation {
  return new InvariantViolation(`operation: ${change.type} while ${now.status} with effect ${now.effect}`);
}
