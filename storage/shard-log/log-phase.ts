// The life of an open log.
//
//     open ──close──▶ closing ──closed──▶ closed
//       │                │
//       ├──broke─────────┤──▶ broken     the disk failed: what it holds is unknown until the log is opened again
//       └──fenced────────┘──▶ fenced     a later owner has taken over
//
//   G3. `broken` and `fenced` are final. A sync that failed once is never tried again: the system may already have
//       forgotten what it could not write, and the next sync would succeed without it.
import type { AtollError } from "../../base/errors.ts";
import { InvariantViolation } from "../../base/invariant.ts";

export type LogPhase =
  | { readonly phase: "open" }
  | { readonly phase: "closing" }
  | { readonly phase: "closed" }
  | { readonly phase: "broken"; readonly reason: AtollError }
  | { readonly phase: "fenced"; readonly reason: AtollError };

export type LogChange =
  | { readonly type: "close" }
  | { readonly type: "closed" }
  | { readonly type: "broke"; readonly reason: AtollError }
  | { readonly type: "fenced"; readonly reason: AtollError };

/** The phase after `change`. Throws InvariantViolation for a change that the picture does not have. */
export function nextLogPhase(current: LogPhase, change: LogChange): LogPhase {
  const live = current.phase === "open" || current.phase === "closing";
  switch (change.type) {
    case "close":
      if (current.phase === "open") return { phase: "closing" };
      break;
    case "closed":
      if (current.phase === "closing") return { phase: "closed" };
      break;
    case "broke":
      if (live) return { phase: "broken", reason: change.reason };
      break;
    case "fenced":
      if (live) return { phase: "fenced", reason: change.reason };
      break;
  }
  throw new InvariantViolation(`a log that is ${current.phase} cannot take "${change.type}"`);
}
