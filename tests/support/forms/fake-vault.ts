import { AtollError } from "../../../base/errors.ts";
import type { ResourceUid } from "../../../base/ids.ts";
import type { SecretVault } from "../../../control/forms/form.ts";

type Secrets = Readonly<Record<string, string>>;

export class FakeVault implements SecretVault {
  readonly kept = new Map<ResourceUid, Secrets>();
  /** As if the key had been lost: nothing that is kept can be unsealed. */
  sealed = false;
  keeps = 0;

  async keep(uid: ResourceUid, values: Secrets): Promise<void> {
    this.keeps++;
    this.kept.set(uid, { ...values });
  }

  async reveal(uid: ResourceUid): Promise<Secrets | null> {
    if (this.sealed) throw new AtollError("backend_unavailable", "the kept secrets cannot be unsealed");
    return this.kept.get(uid) ?? null;
  }

  compare(uid: ResourceUid, values: Secrets): "equal" | "different" | "unknown" {
    const kept = this.kept.get(uid);
    if (kept === undefined || this.sealed) return "unknown";
    const names = Object.keys(kept);
    const equal = names.length === Object.keys(values).length && names.every((name) => kept[name] === values[name]);
    return equal ? "equal" : "different";
  }

  async forget(uid: ResourceUid): Promise<void> {
    this.kept.delete(uid);
  }
}
