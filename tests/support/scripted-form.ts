import type { FormUrl, ResourceUid } from "../../base/ids.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import type {
  ControlView,
  FormAdapter,
  Observation,
  Outcome,
  Reference,
  ResourceRecord,
  Step,
  Subject,
} from "../../control/forms/form.ts";

const DONE: Outcome = { type: "succeeded", observed: {} };

/**
 * A Form that takes any object as spec and does what a test tells it. A spec may name targets of the same Form as
 * `{"refs": [uid, …]}` and private inputs as `{"secrets": [name, …]}`.
 */
export class ScriptedForm implements FormAdapter<JsonObject> {
  readonly form: FormUrl;
  readonly privateInputs: boolean;
  /** Every attempt, in order. */
  readonly steps: Step<JsonObject>[] = [];
  /** Every projection: UID, generation (null when gone), generation before (null when there was none). */
  readonly projections: (readonly [ResourceUid, number | null, number | null])[] = [];
  script: (step: Step<JsonObject>) => Promise<Outcome> = async () => DONE;
  onWake: (subject: Subject<JsonObject>) => Promise<Observation | null> = async () => null;
  onObserve: (subject: Subject<JsonObject>, view: ControlView) => Observation | null = () => null;
  onAdmit: () => void = () => {};

  constructor(form: string, options: { readonly privateInputs?: boolean } = {}) {
    this.form = form as FormUrl;
    this.privateInputs = options.privateInputs ?? false;
  }

  parse(spec: Json): JsonObject {
    return spec as JsonObject;
  }

  privateInputNames(spec: JsonObject): readonly string[] {
    return (spec["secrets"] as readonly string[] | undefined) ?? [];
  }

  references(spec: JsonObject): readonly Reference[] {
    const refs = (spec["refs"] as readonly string[] | undefined) ?? [];
    return refs.map((uid) => ({ field: "spec.refs", uid, form: this.form }));
  }

  activeReferences(backend: JsonObject | null): readonly Reference[] {
    return backend === null ? [] : this.references(backend);
  }

  admitCreate(): void {
    this.onAdmit();
  }

  admitUpdate(): void {
    this.onAdmit();
  }

  admitDelete(): void {
    this.onAdmit();
  }

  initial(): { readonly observed: JsonObject; readonly output: JsonObject } {
    return { observed: {}, output: {} };
  }

  async execute(step: Step<JsonObject>): Promise<Outcome> {
    this.steps.push(step);
    return this.script(step);
  }

  wake(subject: Subject<JsonObject>): Promise<Observation | null> {
    return this.onWake(subject);
  }

  observe(subject: Subject<JsonObject>, view: ControlView): Observation | null {
    return this.onObserve(subject, view);
  }

  project(uid: ResourceUid, record: ResourceRecord | null, last: ResourceRecord | null): void {
    this.projections.push([uid, record?.generation ?? null, last?.generation ?? null]);
  }
}
