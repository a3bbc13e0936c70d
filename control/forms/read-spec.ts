// Reading a `spec` against a closed schema: unknown fields are refused at every depth, and a refusal names the field
// and says what to change.
import { z } from "zod";
import { isName, type ResourceUid } from "../../base/ids.ts";
import type { Json } from "../../base/json.ts";
import { Refusal } from "./form.ts";

/** Foreign text in a message is cut to this many UTF-16 units. */
const ECHO_CHARS_MAX = 64;

const NAME_RULE = "must be a Resource uid: 1 to 128 characters of letters, digits, '.', '_', '-'";

/** A Host API uid (HA-21). */
export const uid = z.custom<ResourceUid>(isName, { error: NAME_RULE, abort: true });

/** The one-key object `{"resourceUid": uid}` (WV-5, WD-4, WE-3). */
export const reference = z.strictObject({ resourceUid: uid }).transform((it) => it.resourceUid);

/** Throws Refusal(`invalid_spec`) that names the first faulty field, e.g. `spec.versions[0].weight`. */
export function readSpec<T>(schema: z.ZodType<T>, spec: Json): T {
  const fault = faultOf(schema, spec, "spec");
  if (fault.type === "value") return fault.value;
  throw new Refusal("invalid_spec", fault.message);
}

/** The value, or what is wrong with it in one sentence. `root` is how the message calls the outermost value. */
export function faultOf<T>(
  schema: z.ZodType<T>,
  value: unknown,
  root: string,
): { readonly type: "value"; readonly value: T } | { readonly type: "fault"; readonly message: string } {
  // With `reportInput` an issue tells a missing field from one of the wrong type.
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return { type: "value", value: result.data };
  const issue = result.error.issues[0];
  return { type: "fault", message: issue === undefined ? `${root} is not valid.` : sentence(issue, root) };
}

/** Quoted and cut, so that a message stays short whatever was sent. */
export function echo(text: string): string {
  return JSON.stringify(text.length > ECHO_CHARS_MAX ? `${text.slice(0, ECHO_CHARS_MAX)}…` : text);
}

function sentence(issue: z.core.$ZodIssue, root: string): string {
  const field = fieldName(root, issue.path);
  switch (issue.code) {
    case "unrecognized_keys":
      return `${field} has the unknown field ${echo(issue.keys[0] ?? "")}; remove it.`;
    case "invalid_type":
      // The input itself is not echoed: it may be large, and it may be something that was sent here by mistake.
      return issue.input === undefined
        ? `${field} is missing; it must be ${kindName(issue.expected)}.`
        : `${field} must be ${kindName(issue.expected)}.`;
    case "invalid_value":
      return `${field} must be one of ${issue.values.map(String).join(", ")}.`;
    case "too_small":
      return `${field} must ${bound(issue.origin, "at least", Number(issue.minimum))}.`;
    case "too_big":
      return `${field} must ${bound(issue.origin, "at most", Number(issue.maximum))}.`;
    default:
      return `${field} ${issue.message}.`;
  }
}

function fieldName(root: string, path: readonly PropertyKey[]): string {
  let name = root;
  for (const step of path) {
    if (typeof step === "number") name += `[${step}]`;
    else if (/^[A-Za-z_$][\w$]{0,63}$/.test(String(step))) name += `.${String(step)}`;
    else name += `[${echo(String(step))}]`;
  }
  return name;
}

function kindName(expected: string): string {
  switch (expected) {
    case "int":
      return "an integer";
    case "object":
    case "array":
      return `an ${expected}`;
    default:
      return `a ${expected}`;
  }
}

function bound(origin: string, which: string, limit: number): string {
  if (origin === "array") return `have ${which} ${limit} elements`;
  if (origin === "string") return `have ${which} ${limit} characters`;
  return `be ${which} ${limit}`;
}
