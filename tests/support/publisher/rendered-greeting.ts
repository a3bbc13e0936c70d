// RenderedGreeting: a snapshot made from a KeyValueEntry, optionally signed. A fictional Form for tests.
import { createHmac } from "node:crypto";
import { z } from "zod";
import type { FormUrl, ResourceUid } from "../../../base/ids.ts";
import type { Json, JsonObject } from "../../../base/json.ts";
import {
  type ControlView,
  type FormAdapter,
  type Outcome,
  type Reference,
  Refusal,
  type SecretVault,
  type Step,
  type Subject,
} from "../../../control/forms/form.ts";
import { readSpec, reference } from "../../../control/forms/read-spec.ts";
import { KEY_VALUE_ENTRY, unresolved } from "./key-value-entry.ts";
import type { PublisherBackend } from "./publisher-backend.ts";

export const RENDERED_GREETING = "https://forms.publisher.example/rendered-greeting/1.0.0" as FormUrl;

export interface GreetingSpec {
  readonly source: ResourceUid;
  readonly prefix: string;
  readonly signed: boolean;
}

const SPEC = z.strictObject({
  source: reference,
  prefix: z.string().max(128).default(""),
  signed: z.boolean().default(false),
});

export class RenderedGreetingForm implements FormAdapter<GreetingSpec> {
  readonly form = RENDERED_GREETING;
  readonly privateInputs = true;
  readonly #backend: PublisherBackend;
  readonly #vault: SecretVault;

  constructor(backend: PublisherBackend, vault: SecretVault) {
    this.#backend = backend;
    this.#vault = vault;
  }

  parse(spec: Json): GreetingSpec {
    return readSpec(SPEC, spec);
  }

  privateInputNames(spec: GreetingSpec): readonly string[] {
    return spec.signed ? ["signingKey"] : [];
  }

  references(spec: GreetingSpec): readonly Reference[] {
    return [{ field: "spec.source", uid: spec.source, form: KEY_VALUE_ENTRY }];
  }

  admitCreate(): void {}

  admitUpdate(
    _view: ControlView,
    current: Subject<GreetingSpec>,
    next: GreetingSpec,
    privateInputs: Readonly<Record<string, string>> | null,
  ): void {
    if (current.spec.source !== next.source) throw new Refusal("invalid_spec", "spec.source cannot be changed");
    if (current.spec.signed !== next.signed) throw new Refusal("invalid_spec", "spec.signed cannot be changed");
    if (privateInputs === null) return;
    const names = this.privateInputNames(next);
    const whole = names.every((name) => (privateInputs[name] ?? "") !== "");
    if (!whole || Object.keys(privateInputs).length !== names.length) {
      throw new Refusal("invalid_spec", "privateInputs must be complete");
    }
  }

  admitDelete(): void {}

  initial(): { readonly observed: JsonObject; readonly output: JsonObject } {
    return { observed: {}, output: {} };
  }

  async execute(step: Step<GreetingSpec>): Promise<Outcome> {
    const { uid } = step.resource;
    const { generation } = step.resource;
    try {
      if (step.action === "delete") {
        step.note({}, "unknown");
        await this.#backend.removeSnapshots(uid);
        return { type: "succeeded", observed: {} };
      }
      if (step.privateInputsLost !== null) {
        const [written] = this.#backend.snapshotsOf(uid).filter((snapshot) => snapshot.generation === generation);
        if (written === undefined) return { type: "input_required" };
        return { type: "succeeded", observed: { snapshot: generation } };
      }
      const source = step.view.resource(step.spec.source);
      if (source === null || source.observed["entryExists"] !== true) {
        return { type: "failed", effect: "none", code: "source_unavailable", message: "the source is not there" };
      }
      const body = `${step.spec.prefix}${source.observed["value"] as string}`;
      const key = await this.#key(step);
      const seal = key === null ? "" : createHmac("sha256", key).update(body).digest("hex");
      step.note({ generation }, "unknown");
      const result = await this.#backend.writeSnapshot({ owner: uid, generation, body, seal });
      if (result === "torn") {
        const message = "the snapshot has no seal, and its writer is fenced";
        return { type: "failed", effect: "partial", code: "snapshot_incomplete", message };
      }
      return {
        type: "succeeded",
        observed: { snapshot: generation, sourceGeneration: source.observedGeneration },
        output: { text: body },
      };
    } catch (error) {
      return unresolved(error);
    }
  }

  async #key(step: Step<GreetingSpec>): Promise<string | null> {
    if (!step.spec.signed) return null;
    if (step.privateInputs !== null) await this.#vault.keep(step.resource.uid, step.privateInputs);
    return (await this.#vault.reveal(step.resource.uid))?.["signingKey"] ?? null;
  }
}
