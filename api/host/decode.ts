// Envelopes of the Host API: from JSON to what the control plane understands. Strict: a field that is not part of an
// envelope refuses it (HA-24), null is not omission (HA-25), nothing is coerced (HA-129). Specs are the Forms' affair.
import { AtollError } from "../../base/errors.ts";
import { isFormUrl, isName, type SpaceName } from "../../base/ids.ts";
import { isJsonObject, type Json, type JsonObject } from "../../base/json.ts";
import { INTEGER_MAX } from "../../base/limits.ts";
import type { Mutation } from "../../control/operations/mutation.ts";
import { canonicalInteger } from "../request.ts";

const KEY = /^[A-Za-z0-9][A-Za-z0-9._:-]{15,127}$/;

/** HA-113, HA-A6. */
export function decodeKey(headers: Headers): string {
  const key = headers.get("idempotency-key");
  if (key === null) throw invalid("the header Idempotency-Key is missing");
  if (!KEY.test(key)) throw invalid("the header Idempotency-Key must have 16 to 128 letters, digits or . _ : -");
  return key;
}

/** HA-30, HA-A6: only an absent header is `expected_generation_required`. */
export function decodeExpectedGeneration(headers: Headers): number {
  const text = headers.get("takoform-expected-generation");
  if (text === null) {
    throw new AtollError("expected_generation_required", "the header Takoform-Expected-Generation is missing");
  }
  const generation = canonicalInteger(text);
  if (generation === null) throw invalid("the header Takoform-Expected-Generation must be a decimal integer");
  return generation;
}

export function decodeCreate(body: JsonObject): Extract<Mutation, { action: "create" }> {
  requireOnly(body, ["form", "space", "name", "spec", "privateInputs"]);
  const { form, space, name } = body;
  if (!isFormUrl(form)) throw invalid("form must be an absolute https URL without userinfo, query or fragment");
  if (!isName(space)) throw invalid("space is missing or malformed");
  if (!isName(name)) throw invalid("name is missing or malformed");
  return { action: "create", form, space: space as SpaceName, name, ...decodeInput(body) };
}

export function decodeUpdate(
  uid: string,
  expectedGeneration: number,
  body: JsonObject,
): Extract<Mutation, { action: "update" }> {
  requireOnly(body, ["spec", "privateInputs"]);
  return { action: "update", uid, expectedGeneration, ...decodeInput(body) };
}

/** HA-135. */
export function decodeReplenishment(body: JsonObject): Readonly<Record<string, string>> {
  requireOnly(body, ["privateInputs"]);
  const values = decodePrivateInputs(body);
  if (values === null) throw invalid("privateInputs is missing");
  return values;
}

/** HA-146: every field without `?` is mandatory. */
export function decodePreview(body: JsonObject): Mutation {
  switch (body["action"]) {
    case "create":
      requireOnly(body, ["action", "input"]);
      return decodeCreate(requireObject(body, "input"));
    case "update":
      requireOnly(body, ["action", "uid", "expectedGeneration", "input"]);
      return decodeUpdate(decodeUid(body), decodeGeneration(body), requireObject(body, "input"));
    case "delete":
      requireOnly(body, ["action", "uid", "expectedGeneration"]);
      return { action: "delete", uid: decodeUid(body), expectedGeneration: decodeGeneration(body) };
    default:
      throw invalid("action must be create, update or delete");
  }
}

function decodeInput(body: JsonObject) {
  return { spec: requireObject(body, "spec"), privateInputs: decodePrivateInputs(body) };
}

function decodePrivateInputs(body: JsonObject): Readonly<Record<string, string>> | null {
  if (!Object.hasOwn(body, "privateInputs")) return null;
  const values = requireObject(body, "privateInputs");
  // Neither the name nor the value of a faulty entry is repeated in the refusal.
  if (!isStringMap(values)) throw invalid("privateInputs must map names to strings");
  return values;
}

function isStringMap(value: JsonObject): value is Readonly<Record<string, string>> {
  return Object.values(value).every((member: Json) => typeof member === "string");
}

function decodeUid(body: JsonObject): string {
  const uid = body["uid"];
  if (!isName(uid)) throw invalid("uid is missing or malformed");
  return uid;
}

function decodeGeneration(body: JsonObject): number {
  const value = body["expectedGeneration"];
  const valid = typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= INTEGER_MAX;
  if (!valid) throw invalid("expectedGeneration must be an integer");
  return value;
}

function requireObject(body: JsonObject, field: string): JsonObject {
  const value = body[field];
  if (!isJsonObject(value)) throw invalid(`${field} must be a JSON object`);
  return value;
}

function requireOnly(body: JsonObject, fields: readonly string[]): void {
  if (Object.keys(body).some((field) => !fields.includes(field))) {
    throw invalid(`the body may have only the fields ${fields.join(", ")}`);
  }
}

function invalid(message: string): AtollError {
  return new AtollError("invalid_request", message);
}
