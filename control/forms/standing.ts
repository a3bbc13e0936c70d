// How far a Resource that others depend on has come, as its record shows it.
import type { FormUrl, ResourceUid } from "../../base/ids.ts";
import { type ControlView, Refusal, type ResourceRecord } from "./form.ts";

/**
 * - `verified`: what it stands for was confirmed and has not been found broken since.
 * - `pending`: an accepted Operation has yet to confirm it; no verdict (WV-A5, WD-35).
 * - `broken`: known not to hold; only a new Operation on it can change that.
 */
export type Standing = "verified" | "pending" | "broken";

/** `confirmed`: whether its last observation shows it verified. */
export function standingOf(record: ResourceRecord, confirmed: boolean): Standing {
  if (record.phase === "deleting") return "broken";
  if (confirmed) return "verified";
  return record.phase === "pending" ? "pending" : "broken";
}

/** The undeleted Resource with exactly this Form; null otherwise (HA-177). */
export function find(view: ControlView, uid: ResourceUid, form: FormUrl): ResourceRecord | null {
  const record = view.resource(uid);
  return record !== null && record.form === form ? record : null;
}

/** The target of a reference. Throws Refusal(`invalid_spec`), the same for every cause (HA-A12). */
export function requireTarget(view: ControlView, field: string, uid: ResourceUid, form: FormUrl): ResourceRecord {
  const target = find(view, uid, form);
  if (target === null) throw new Refusal("invalid_spec", `${field} names no usable ${formName(form)}.`);
  return target;
}

/** Throws Refusal(`dependency_conflict`) while an undeleted Resource refers to `target`; names no foreign Resource. */
export function requireUnreferenced(view: ControlView, target: ResourceRecord): void {
  const referrer = view.referrersOf(target.uid)[0];
  if (referrer === undefined) return;
  const kind = formName(target.form);
  throw new Refusal(
    "dependency_conflict",
    `A ${formName(referrer.form)} still refers to this ${kind}; delete it first.`,
  );
}

/** `WorkerVersion` for `https://edge.forms.takoform.com/forms/WorkerVersion/0.5.0/`. */
function formName(form: FormUrl): string {
  return form.split("/").findLast((part) => /^[A-Z]/.test(part)) ?? "Resource";
}
