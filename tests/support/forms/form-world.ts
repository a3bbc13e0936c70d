// A world in which Forms live without the engine: records in memory, one Operation at a time, a clock that moves only
// when told to. It keeps the order of F1 … F4 and nothing else of the Host API.
import type { FormUrl, OperationId, PrincipalId, ResourceUid, SpaceName } from "../../../base/ids.ts";
import type { Json, JsonObject } from "../../../base/json.ts";
import { silentLogger } from "../../../base/log.ts";
import { SteppedClock } from "../../../base/stepped-clock.ts";
import { edgeForms } from "../../../control/forms/edge-forms.ts";
import {
  type Action,
  type ControlView,
  type FormAdapter,
  type Observation,
  type Outcome,
  type Reference,
  Refusal,
  type ResourceRecord,
} from "../../../control/forms/form.ts";
import { FakeArtifacts } from "./fake-artifacts.ts";
import { FakeRuntime } from "./fake-runtime.ts";
import { FakeVault } from "./fake-vault.ts";

export interface Accepted {
  readonly uid: ResourceUid;
  readonly action: Action;
  readonly operationId: OperationId;
  readonly privateInputs: Readonly<Record<string, string>> | null;
}

export interface Settled {
  readonly uid: ResourceUid;
  readonly outcome: Outcome;
  /** The record after it; the last one when it was deleted. */
  readonly record: ResourceRecord;
}

const STEPS_MAX = 200;

export class FormWorld implements ControlView {
  readonly clock = new SteppedClock();
  readonly artifacts = new FakeArtifacts();
  readonly vault = new FakeVault();
  runtime = new FakeRuntime();
  /** Effects noted by the Operation that ran last. */
  noted: string[] = [];
  #forms = this.#assemble();
  readonly #records = new Map<string, ResourceRecord>();
  readonly #references = new Map<ResourceUid, ReadonlySet<string>>();
  readonly #wakes = new Map<ResourceUid, number>();
  #count = 0;

  resource(uid: string): ResourceRecord | null {
    return this.#records.get(uid) ?? null;
  }

  resourcesOf(form: FormUrl): readonly ResourceRecord[] {
    return [...this.#records.values()].filter((it) => it.form === form);
  }

  referrersOf(uid: ResourceUid): readonly ResourceRecord[] {
    return [...this.#records.values()].filter((it) => this.#references.get(it.uid)?.has(uid));
  }

  form(url: FormUrl): FormAdapter {
    const form = this.#forms.get(url);
    if (form === undefined) throw new Error(`no Form ${url}`);
    return form;
  }

  /** Accept a create; throws Refusal. */
  acceptCreate(form: FormUrl, spec: Json, privateInputs: Record<string, string> | null = null): Accepted {
    const adapter = this.form(form);
    const parsed = adapter.parse(spec);
    this.#requireTargets(adapter.references(parsed));
    adapter.admitCreate(this, { space: "default" as SpaceName, spec: parsed });
    const uid = `r${++this.#count}` as ResourceUid;
    const { observed, output } = adapter.initial(this, uid, parsed);
    const operationId = `o${this.#count}` as OperationId;
    this.#put({
      uid,
      form,
      space: "default" as SpaceName,
      name: `Name.of-${uid}`,
      owner: "tester" as PrincipalId,
      generation: 1,
      observedGeneration: 0,
      observedAtMs: null,
      phase: "pending",
      spec: spec as JsonObject,
      observed,
      output,
      lastOperation: operationId,
      backend: null,
    });
    return { uid, action: "create", operationId, privateInputs };
  }

  acceptUpdate(uid: ResourceUid, spec: Json, privateInputs: Record<string, string> | null = null): Accepted {
    const record = this.record(uid);
    const adapter = this.form(record.form);
    const next = adapter.parse(spec);
    this.#requireTargets(adapter.references(next));
    adapter.admitUpdate(this, { resource: record, spec: adapter.parse(record.spec) }, next, privateInputs);
    return this.#acceptChange(record, "update", spec as JsonObject, privateInputs);
  }

  acceptDelete(uid: ResourceUid): Accepted {
    const record = this.record(uid);
    const adapter = this.form(record.form);
    adapter.admitDelete(this, { resource: record, spec: adapter.parse(record.spec) });
    return this.#acceptChange(record, "delete", record.spec, null);
  }

  /** One attempt; its outcome is applied unless it is unresolved. */
  async step(accepted: Accepted): Promise<Outcome> {
    this.noted = [];
    const resource = this.record(accepted.uid);
    const outcome = await this.form(resource.form).execute({
      ...accepted,
      resource,
      spec: this.form(resource.form).parse(resource.spec),
      view: this,
      privateInputsLost: null,
      resumed: false,
      note: (backend, effect) => {
        this.noted.push(effect);
        this.#put({ ...this.record(accepted.uid), backend });
      },
    });
    if (outcome.type === "unresolved" || outcome.type === "input_required") return outcome;
    this.#apply(accepted, outcome);
    return outcome;
  }

  /** Attempts until the Operation is settled, moving the clock as it asks. */
  async settle(accepted: Accepted): Promise<Settled> {
    for (let i = 0; i < STEPS_MAX; i++) {
      const before = this.record(accepted.uid);
      const outcome = await this.step(accepted);
      if (outcome.type === "input_required") throw new Error("the Operation waits for input");
      if (outcome.type !== "unresolved") {
        return { uid: accepted.uid, outcome, record: this.resource(accepted.uid) ?? before };
      }
      await this.clock.advance(outcome.retryAfterMs);
    }
    throw new Error("the Operation does not settle");
  }

  create(form: FormUrl, spec: Json, privateInputs?: Record<string, string>): Promise<Settled> {
    return this.settle(this.acceptCreate(form, spec, privateInputs));
  }

  update(uid: ResourceUid, spec: Json = this.record(uid).spec, secrets?: Record<string, string>): Promise<Settled> {
    return this.settle(this.acceptUpdate(uid, spec, secrets));
  }

  delete(uid: ResourceUid): Promise<Settled> {
    return this.settle(this.acceptDelete(uid));
  }

  record(uid: ResourceUid): ResourceRecord {
    const record = this.#records.get(uid);
    if (record === undefined) throw new Error(`no record ${uid}`);
    return record;
  }

  wakeOf(uid: ResourceUid): number | null {
    return this.#wakes.get(uid) ?? null;
  }

  /** Move the clock, then call what has fallen due. */
  async advance(ms: number): Promise<void> {
    await this.clock.advance(ms);
    await this.wakeDue();
  }

  /** Call what has fallen due, once each. */
  async wakeDue(): Promise<void> {
    for (const [uid, dueMs] of this.#wakes) {
      if (dueMs > this.clock.nowMs()) continue;
      this.#wakes.delete(uid);
      const record = this.record(uid);
      const adapter = this.form(record.form);
      const seen = await adapter.wake?.({ resource: record, spec: adapter.parse(record.spec) }, this);
      if (seen !== null && seen !== undefined) this.#see(record, seen);
    }
  }

  /** Look again at everything, as after a change that no Operation made. */
  observeAll(): void {
    for (const uid of this.#records.keys()) this.#observe(uid as ResourceUid);
  }

  /** A new process: nothing in memory but what the records say. */
  restart(): void {
    this.runtime = new FakeRuntime();
    this.#forms = this.#assemble();
    for (const record of this.#records.values()) this.form(record.form).project?.(record.uid, record, null);
  }

  /** The code of the refusal that `act` throws. */
  refusal(act: () => unknown): string {
    try {
      act();
    } catch (error) {
      if (error instanceof Refusal) return error.code;
      throw error;
    }
    throw new Error("expected a refusal");
  }

  #assemble(): Map<FormUrl, FormAdapter> {
    const { clock, artifacts, vault, runtime } = this;
    const forms = edgeForms({ clock, artifacts, vault, runtime, log: silentLogger, endpointDomain: "atoll.localhost" });
    return new Map(forms.map((it) => [it.form, it]));
  }

  /** What the engine checks of every reference (HA-177). */
  #requireTargets(references: readonly Reference[]): void {
    for (const { field, uid, form } of references) {
      const target = this.resource(uid);
      if (target?.form !== form) throw new Refusal("invalid_spec", `${field} names no such Resource`);
      if (target.phase === "deleting") throw new Refusal("dependency_conflict", `${field} is being deleted`);
    }
  }

  #acceptChange(
    record: ResourceRecord,
    action: "update" | "delete",
    spec: JsonObject,
    privateInputs: Record<string, string> | null,
  ): Accepted {
    const operationId = `o${++this.#count}` as OperationId;
    const phase = action === "delete" ? "deleting" : "pending";
    this.#put({ ...record, generation: record.generation + 1, phase, spec, lastOperation: operationId });
    return { uid: record.uid, action, operationId, privateInputs };
  }

  #apply(accepted: Accepted, outcome: Extract<Outcome, { type: "succeeded" | "failed" }>): void {
    const record = this.record(accepted.uid);
    const neighbours = this.#neighbours(record.uid);
    const adapter = this.form(record.form);
    if (outcome.type === "succeeded" && accepted.action === "delete") {
      this.#records.delete(record.uid);
      this.#references.delete(record.uid);
      this.#wakes.delete(record.uid);
      adapter.project?.(record.uid, null, record);
    } else if (outcome.type === "succeeded") {
      this.#setWake(record.uid, outcome.wakeAtMs);
      this.#put({
        ...record,
        phase: "idle",
        observedGeneration: record.generation,
        observedAtMs: this.clock.nowMs(),
        observed: outcome.observed,
        output: outcome.output ?? record.output,
        backend: outcome.backend === undefined ? record.backend : outcome.backend,
      });
      adapter.project?.(record.uid, this.record(record.uid), record);
    } else {
      this.#put({
        ...record,
        phase: "error",
        observed: outcome.observed ?? record.observed,
        backend: outcome.backend === undefined ? record.backend : outcome.backend,
      });
      adapter.project?.(record.uid, this.record(record.uid), record);
    }
    for (const uid of neighbours) this.#observe(uid);
  }

  #observe(uid: ResourceUid): void {
    const record = this.#records.get(uid);
    if (record === undefined || record.phase === "pending") return;
    const adapter = this.form(record.form);
    const seen = adapter.observe?.({ resource: record, spec: adapter.parse(record.spec) }, this) ?? null;
    if (seen !== null) this.#see(record, seen);
  }

  #see(record: ResourceRecord, seen: Observation): void {
    this.#setWake(record.uid, seen.wakeAtMs);
    const backend = seen.backend === undefined ? record.backend : seen.backend;
    this.#put({ ...record, observed: seen.observed, backend, observedAtMs: this.clock.nowMs() });
    this.form(record.form).project?.(record.uid, this.record(record.uid), record);
    for (const uid of this.#neighbours(record.uid)) this.#observe(uid);
  }

  #setWake(uid: ResourceUid, wakeAtMs: number | undefined): void {
    if (wakeAtMs === undefined) this.#wakes.delete(uid);
    else this.#wakes.set(uid, wakeAtMs);
  }

  #neighbours(uid: ResourceUid): ResourceUid[] {
    const referents = [...(this.#references.get(uid) ?? [])] as ResourceUid[];
    return [...referents, ...this.referrersOf(uid).map((it) => it.uid)];
  }

  #put(record: ResourceRecord): void {
    const adapter = this.form(record.form);
    const accepted = adapter.references(adapter.parse(record.spec));
    const active = adapter.activeReferences?.(record.backend) ?? [];
    this.#references.set(record.uid, new Set([...accepted, ...active].map((it) => it.uid)));
    this.#records.set(record.uid, record);
  }
}
