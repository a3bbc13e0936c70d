// The closed set of Forms this Host implements. Nothing is ever added, fetched or discovered at run time (HA-58).
import type { FormUrl } from "../../base/ids.ts";
import { invariant } from "../../base/invariant.ts";
import type { FormAdapter } from "./form.ts";

/** What a Host says about a Form URL (HA-51 … HA-55). */
export interface FormSupport {
  readonly form: string;
  readonly supported: boolean;
  readonly operations: readonly ("create" | "read" | "update" | "delete")[];
  readonly privateInputs: boolean;
}

export class FormRegistry {
  readonly #adapters: ReadonlyMap<string, FormAdapter>;

  /** Each adapter implements all four operations. Throws when two claim one URL. */
  constructor(adapters: readonly FormAdapter[]) {
    this.#adapters = new Map(adapters.map((adapter) => [adapter.form, adapter]));
    invariant(this.#adapters.size === adapters.length, "each Form has one adapter");
  }

  /** The adapter for exactly this URL; null when the Form is not supported. Compares whole strings (HA-23). */
  find(form: string): FormAdapter | null {
    return this.#adapters.get(form) ?? null;
  }

  /** In the order of registration. */
  forms(): readonly FormUrl[] {
    return [...this.#adapters.values()].map((adapter) => adapter.form);
  }

  /** `privateInputs` is the Host's capability: without it no Form can take secrets (HA-54, HA-55). */
  support(form: string, capabilities: { readonly privateInputs: boolean }): FormSupport {
    const adapter = this.find(form);
    if (adapter === null) return { form, supported: false, operations: [], privateInputs: false };
    return {
      form,
      supported: true,
      operations: ["create", "read", "update", "delete"],
      privateInputs: capabilities.privateInputs && adapter.privateInputs,
    };
  }
}
