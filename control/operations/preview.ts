// Previews: every check of a mutation and none of its consequences (HA-146, HA-147).
import { AtollError, type ErrorCode } from "../../base/errors.ts";
import type { Caller } from "../principals/caller.ts";
import type { Admission } from "./admission.ts";
import type { Mutation } from "./mutation.ts";

export interface Preview {
  readonly valid: boolean;
  readonly errors: readonly { readonly code: string; readonly message: string }[];
}

/** What says something about the input. Everything else refuses the preview itself (HA-A15). */
const ABOUT_THE_INPUT: ReadonlySet<ErrorCode> = new Set([
  "unsupported_form",
  "capability_required",
  "invalid_spec",
  "name_conflict",
  "generation_conflict",
  "resource_busy",
  "dependency_conflict",
]);

/** Judge `mutation` without accepting it. Throws an AtollError for missing authority or an unknown Resource. */
export function preview(admission: Admission, caller: Caller, mutation: Mutation): Preview {
  const target = admission.authorize(caller, mutation);
  try {
    admission.admit(caller, mutation, target);
  } catch (error) {
    if (!(error instanceof AtollError) || !ABOUT_THE_INPUT.has(error.code)) throw error;
    return { valid: false, errors: [{ code: error.code, message: error.message }] };
  }
  return { valid: true, errors: [] };
}
