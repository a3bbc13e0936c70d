// A bounded number of tries for something that may pass by itself. The count belongs to one Operation and is durable,
// so a restart neither forgets it nor gives an Operation fewer tries than another.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { Step } from "./form.ts";

/** The whole run takes about half a minute before the Operation fails. */
const TRIES_MAX = 6;
const FIRST_DELAY_MS = 1000;

/** How long to wait before the next try; null when this one was the last. `done` tries came before it. */
export function nextDelayMs(done: number): number | null {
  return done + 1 < TRIES_MAX ? FIRST_DELAY_MS * 2 ** done : null;
}

/** Tries of this Operation that are over. */
export function triesOf(step: Pick<Step<unknown>, "resource" | "operationId">): number {
  const tries = step.resource.backend?.["tries"] ?? null;
  if (!isJsonObject(tries) || tries["operation"] !== step.operationId) return 0;
  return Number(tries["done"]);
}

/** Bookkeeping that says one more try of this Operation is over. The next outcome that succeeds drops it. */
export function countTry(step: Pick<Step<unknown>, "resource" | "operationId">): JsonObject {
  return { ...step.resource.backend, tries: { operation: step.operationId, done: triesOf(step) + 1 } };
}
