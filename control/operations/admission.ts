// Every check between authentication and acceptance, in the order of HA-A1. Pure reads: a refusal leaves nothing
// behind (HA-77), and a preview runs the same checks (HA-147).
import { AtollError } from "../../base/errors.ts";
import type { ResourceUid, SpaceName } from "../../base/ids.ts";
import { INTEGER_MAX } from "../../base/limits.ts";
import type { ControlStore } from "../../storage/control/control-store.ts";
import type { ResourceRow } from "../../storage/control/records.ts";
import type { SecretMap } from "../../storage/secrets/secret-map.ts";
import type { ControlView, FormAdapter, Reference } from "../forms/form.ts";
import { Refusal } from "../forms/form.ts";
import type { FormRegistry } from "../forms/registry.ts";
import type { Caller } from "../principals/caller.ts";
import type { Change, Mutation } from "./mutation.ts";

/** The Space a mutation acts in, and the Resource it names; null for a create and for a Resource that is gone. */
export interface Target {
  readonly space: SpaceName;
  readonly resource: ResourceRow | null;
}

/** A mutation that passed every check. */
export interface Admitted {
  readonly adapter: FormAdapter;
  /** The spec as the Form reads it. */
  readonly spec: unknown;
  readonly current: ResourceRow | null;
  readonly references: readonly ResourceUid[];
}

export class Admission {
  readonly #store: ControlStore;
  readonly #forms: FormRegistry;
  readonly #view: ControlView;
  readonly #privateInputs: boolean;

  constructor(parts: {
    readonly store: ControlStore;
    readonly forms: FormRegistry;
    readonly view: ControlView;
    /** Whether the Host offers private inputs at all. */
    readonly privateInputs: boolean;
  }) {
    this.#store = parts.store;
    this.#forms = parts.forms;
    this.#view = parts.view;
    this.#privateInputs = parts.privateInputs;
  }

  /**
   * Whether the caller may do such a thing at all. Throws `forbidden`, and `not_found` where even existence is none of
   * the caller's business (HA-50, HA-A12). Needs no more than HA-120 allows to tell after a revocation.
   */
  authorize(caller: Caller, mutation: Mutation): Target {
    if (mutation.action === "create") {
      const { space } = mutation;
      if (!caller.may("write", space) || this.#store.principals.space(space) === null) {
        throw new AtollError("forbidden", "you may not create Resources in this Space, or there is no such Space");
      }
      return { space, resource: null };
    }
    const resource = this.#store.resources.get(mutation.uid);
    const space = resource?.space ?? this.#store.resources.tombstone(mutation.uid)?.space;
    if (space === undefined || !caller.knows(space)) throw noSuchResource();
    if (!caller.may("write", space)) throw new AtollError("forbidden", "you may not change Resources in this Space");
    return { space, resource };
  }

  /** Throws an AtollError whose code is the refusal. Call it after the key was looked up (HA-117). */
  admit(caller: Caller, mutation: Mutation, target: Target): Admitted {
    try {
      return mutation.action === "create"
        ? this.#admitCreate(caller, mutation)
        : this.#admitChange(caller, mutation, target);
    } catch (error) {
      if (error instanceof Refusal) throw new AtollError(error.code, error.message, { cause: error });
      throw error;
    }
  }

  #admitCreate(caller: Caller, create: Extract<Mutation, { action: "create" }>): Admitted {
    const adapter = this.#adapter(create.form);
    this.#requireCapability(adapter, create.privateInputs);
    const spec = adapter.parse(create.spec);
    const names = adapter.privateInputNames(spec);
    if (names.length > 0 && !this.#takesPrivateInputs(adapter)) {
      throw new AtollError("capability_required", "this spec needs private inputs, which this Host does not take");
    }
    requireWholeMap(names, create.privateInputs);
    const references = this.#resolve(caller, create.space, adapter.references(spec));
    adapter.admitCreate(this.#view, { space: create.space, spec });
    if (this.#store.resources.byName(create.space, create.name) !== null) {
      throw new AtollError("name_conflict", "the name is taken in this Space");
    }
    return { adapter, spec, current: null, references };
  }

  #admitChange(caller: Caller, change: Change, { resource }: Target): Admitted {
    const adapter = resource === null ? null : this.#adapter(resource.form);
    if (change.action === "update") this.#requireCapability(adapter, change.privateInputs);
    if (resource === null || adapter === null) throw new AtollError("gone", "the Resource was deleted");
    if (resource.phase === "pending" || resource.phase === "deleting") {
      throw new AtollError("resource_busy", "an earlier Operation on this Resource has not finished", {
        hint: "Read the Operation named by lastOperation and wait for it to settle.",
      });
    }
    if (change.expectedGeneration !== resource.generation) {
      throw new AtollError("generation_conflict", "the expected generation is not the current one", {
        hint: "Read the Resource again and decide anew.",
      });
    }
    if (resource.generation >= INTEGER_MAX) {
      throw new AtollError("generation_conflict", "the generation of this Resource cannot grow any more (HA-20)");
    }
    const current = { resource, spec: adapter.parse(resource.spec) };
    if (change.action === "delete") {
      adapter.admitDelete(this.#view, current);
      return { adapter, spec: current.spec, current: resource, references: [] };
    }
    const spec = adapter.parse(change.spec);
    const references = this.#resolve(caller, resource.space, adapter.references(spec));
    adapter.admitUpdate(this.#view, current, spec, change.privateInputs);
    return { adapter, spec, current: resource, references };
  }

  #adapter(form: string): FormAdapter {
    const adapter = this.#forms.find(form);
    if (adapter === null) throw new AtollError("unsupported_form", "this Host does not implement the Form");
    return adapter;
  }

  #takesPrivateInputs(adapter: FormAdapter | null): boolean {
    return this.#privateInputs && (adapter === null || adapter.privateInputs);
  }

  /** HA-130, HA-A8: presence of the field, even as `{}`, needs the capability. */
  #requireCapability(adapter: FormAdapter | null, privateInputs: SecretMap | null): void {
    if (privateInputs !== null && !this.#takesPrivateInputs(adapter)) {
      throw new AtollError("capability_required", "private inputs are not taken for this Form on this Host");
    }
  }

  /** HA-177, HA-A12: what is missing and what the caller may not use look the same. */
  #resolve(caller: Caller, space: SpaceName, references: readonly Reference[]): readonly ResourceUid[] {
    return references.map((reference) => {
      const target = this.#store.resources.get(reference.uid);
      if (target === null || target.space !== space || !caller.may("use", space)) {
        throw new Refusal("invalid_spec", `${reference.field} names no Resource that may be used here`);
      }
      if (target.form !== reference.form) {
        throw new Refusal("invalid_spec", `${reference.field} names a Resource of another Form`);
      }
      if (target.phase === "deleting") {
        throw new Refusal("dependency_conflict", `${reference.field} names a Resource that is being deleted`);
      }
      return target.uid;
    });
  }
}

export function noSuchResource(): AtollError {
  return new AtollError("not_found", "there is no such Resource");
}

/** HA-131: a create brings every required value at once, and nothing else. Names are public, values never are. */
function requireWholeMap(names: readonly string[], privateInputs: SecretMap | null): void {
  const given = privateInputs ?? {};
  for (const name of names) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    if (value === undefined || value === "") throw new Refusal("invalid_spec", `the private input ${name} is missing`);
  }
  if (Object.keys(given).length > names.length) {
    throw new Refusal("invalid_spec", "there are private inputs that the spec does not name");
  }
}
