import type { FormUrl, ResourceUid } from "../../base/ids.ts";
import type { ControlStore } from "../../storage/control/control-store.ts";
import type { ControlView, ResourceRecord } from "../forms/form.ts";

/** The control store as Forms may see it. Reads between two awaits, or in one transaction, see one snapshot. */
export class StoreView implements ControlView {
  readonly #store: ControlStore;

  constructor(store: ControlStore) {
    this.#store = store;
  }

  resource(uid: string): ResourceRecord | null {
    return this.#store.resources.get(uid);
  }

  resourcesOf(form: FormUrl): readonly ResourceRecord[] {
    return this.#store.resources.ofForm(form);
  }

  referrersOf(uid: ResourceUid): readonly ResourceRecord[] {
    return this.#store.resources.referrersOf(uid);
  }
}
