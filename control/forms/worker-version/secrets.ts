import type { ResourceUid } from "../../../base/ids.ts";
import { Refusal, type SecretVault } from "../form.ts";

/**
 * An update that carries private inputs must carry the original ones: every declared name and no other, each with the
 * configured value (WV-47, WV-49). Throws Refusal(`invalid_spec`). Values that can no longer be compared pass: they
 * are not stored, and the Operation reports the loss (WV-48).
 */
export function requireOriginalSecrets(
  vault: SecretVault,
  uid: ResourceUid,
  names: readonly string[],
  values: Readonly<Record<string, string>>,
): void {
  const given = Object.keys(values);
  if (given.length !== names.length || !names.every((name) => Object.hasOwn(values, name) && values[name] !== "")) {
    const rule = "give a nonempty value for exactly the names in spec.requiredSensitiveVars, or leave it out";
    throw new Refusal("invalid_spec", `privateInputs must be complete: ${rule}.`);
  }
  if (names.length > 0 && vault.compare(uid, values) === "different") {
    const message = "privateInputs differ from the configured values; a changed secret needs a new WorkerVersion.";
    throw new Refusal("invalid_spec", message);
  }
}
