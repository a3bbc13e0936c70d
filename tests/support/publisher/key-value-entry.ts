// KeyValueEntry: one entry under one key of the publisher's backend. A fictional Form for tests of the Host API.
import { z } from "zod";
import type { FormUrl } from "../../../base/ids.ts";
import type { Json, JsonObject } from "../../../base/json.ts";
import {
  type ControlView,
  type FormAdapter,
  type Outcome,
  Refusal,
  type ResourceRecord,
  type Step,
  type Subject,
} from "../../../control/forms/form.ts";
import { readSpec } from "../../../control/forms/read-spec.ts";
import { LostAnswer, type PublisherBackend, Unreachable } from "./publisher-backend.ts";

export const KEY_VALUE_ENTRY = "https://forms.publisher.example/key-value-entry/1.0.0" as FormUrl;

export interface EntrySpec {
  readonly key: string;
  readonly value: string;
}

/** Lengths count Unicode scalar values. */
const scalars = (min: number, max: number) =>
  z.string().refine((text) => Array.from(text).length >= min && Array.from(text).length <= max, {
    error: `must have ${min} to ${max} characters`,
  });

const SPEC = z.strictObject({ key: scalars(1, 128), value: scalars(0, 4096) });

export class KeyValueEntryForm implements FormAdapter<EntrySpec> {
  readonly form = KEY_VALUE_ENTRY;
  readonly privateInputs = false;
  /** What the runtime of a node would know: the last projection of each UID. */
  readonly projected = new Map<string, ResourceRecord>();
  readonly #backend: PublisherBackend;

  constructor(backend: PublisherBackend) {
    this.#backend = backend;
  }

  parse(spec: Json): EntrySpec {
    return readSpec(SPEC, spec);
  }

  privateInputNames(): readonly string[] {
    return [];
  }

  references(): readonly [] {
    return [];
  }

  admitCreate(): void {}

  admitUpdate(_view: ControlView, current: Subject<EntrySpec>, next: EntrySpec): void {
    if (current.spec.key !== next.key) throw new Refusal("invalid_spec", "spec.key cannot be changed");
  }

  admitDelete(view: ControlView, current: Subject<EntrySpec>): void {
    if (view.referrersOf(current.resource.uid).length > 0) {
      throw new Refusal("dependency_conflict", "other Resources refer to this entry");
    }
  }

  initial(): { readonly observed: JsonObject; readonly output: JsonObject } {
    return { observed: {}, output: {} };
  }

  async execute(step: Step<EntrySpec>): Promise<Outcome> {
    const { uid } = step.resource;
    const { key, value } = step.spec;
    step.note({ key }, "unknown");
    try {
      if (step.action === "delete") {
        await this.#backend.remove(key, uid);
        return { type: "succeeded", observed: { entryExists: false } };
      }
      const known = step.action === "create" || step.resource.observed["entryExists"] !== true;
      const result = await this.#backend.put(key, value, uid, { create: known });
      if (result === "taken") {
        return { type: "failed", effect: "none", code: "key_conflict", message: "the key belongs to another entry" };
      }
      if (result === "missing") {
        return { type: "failed", effect: "none", code: "entry_not_found", message: "the entry is gone" };
      }
      return { type: "succeeded", observed: { entryExists: true, key, value } };
    } catch (error) {
      return unresolved(error);
    }
  }

  project(uid: string, record: ResourceRecord | null): void {
    if (record === null) this.projected.delete(uid);
    else this.projected.set(uid, record);
  }
}

/** A lost answer leaves the effect unknown; a refusal before sending leaves it at none. */
export function unresolved(error: unknown): Outcome {
  if (error instanceof LostAnswer) {
    const message = "the answer of the backend was lost";
    return { type: "unresolved", effect: "unknown", retryAfterMs: 100, code: "backend_uncertain", message };
  }
  if (error instanceof Unreachable) {
    const message = "the backend cannot be reached";
    return { type: "unresolved", effect: "none", retryAfterMs: 100, code: "backend_unreachable", message };
  }
  throw error;
}
