// What a caller asks for, decoded and not yet judged.
import { createHash } from "node:crypto";
import type { FormUrl, SpaceName } from "../../base/ids.ts";
import type { JsonObject } from "../../base/json.ts";
import type { StrictJson } from "../../base/strict-json.ts";
import type { SecretMap } from "../../storage/secrets/secret-map.ts";

export type Mutation =
  | {
      readonly action: "create";
      readonly form: FormUrl;
      readonly space: SpaceName;
      readonly name: string;
      readonly spec: JsonObject;
      /** Null when the field was absent; `{}` is presence (HA-130). */
      readonly privateInputs: SecretMap | null;
    }
  | {
      readonly action: "update";
      readonly uid: string;
      readonly expectedGeneration: number;
      readonly spec: JsonObject;
      readonly privateInputs: SecretMap | null;
    }
  | { readonly action: "delete"; readonly uid: string; readonly expectedGeneration: number };

export type Change = Exclude<Mutation, { action: "create" }>;

/** A mutation together with the key that makes it repeatable. */
export interface MutationRequest {
  readonly key: string;
  /** `fingerprintOf` the request. */
  readonly fingerprint: Uint8Array;
  readonly mutation: Mutation;
}

/**
 * A digest over everything that makes two requests equal (HA-115), save the values of private inputs, which are
 * compared privately (HA-116): method, path below the API root, the given expected generation, and the JSON value by
 * mathematical equality. Mutations take no query parameters.
 */
export function fingerprintOf(request: {
  readonly method: string;
  readonly path: string;
  readonly expectedGeneration: string | null;
  readonly body: StrictJson | null;
}): Uint8Array {
  const { body } = request;
  const hasPrivateInputs =
    typeof body?.value === "object" && body.value !== null && Object.hasOwn(body.value, "privateInputs");
  const parts = [
    request.method,
    request.path,
    request.expectedGeneration,
    hasPrivateInputs,
    body === null ? null : body.canonical(["privateInputs"]),
  ];
  return createHash("sha256").update(JSON.stringify(parts)).digest();
}
