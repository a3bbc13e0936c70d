// The ledger writes down what becomes of an Operation and its Resource, one transaction a step, so that a crash between
// any two steps leaves a state from which the same chain goes on.
import type { Clock } from "../../base/clock.ts";
import type { ResourceUid } from "../../base/ids.ts";
import { invariant } from "../../base/invariant.ts";
import type { JsonObject } from "../../base/json.ts";
import type { ControlStore } from "../../storage/control/control-store.ts";
import type { Attempt, OperationRow, ResourceRow } from "../../storage/control/records.ts";
import type { HeldInputStore } from "../../storage/secrets/held-inputs.ts";
import type { FormAdapter, Observation, Outcome } from "../forms/form.ts";
import type { OperationChange } from "./operation-life.ts";
import { changed } from "./operation-record.ts";

type Succeeded = Extract<Outcome, { type: "succeeded" }>;
type Failed = Extract<Outcome, { type: "failed" }>;

/** A Resource before and after something was written down about it; null when it is gone. */
export interface Written {
  readonly before: ResourceRow;
  readonly after: ResourceRow | null;
  /** Resources next to it by a reference, before or after. */
  readonly neighbours: readonly ResourceUid[];
}

export class Ledger {
  readonly #store: ControlStore;
  readonly #clock: Clock;
  readonly #inputs: HeldInputStore;
  readonly #windowMs: number;

  constructor(parts: {
    readonly store: ControlStore;
    readonly clock: Clock;
    readonly inputs: HeldInputStore;
    /** The replay window of this Host, in milliseconds. */
    readonly windowMs: number;
  }) {
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#inputs = parts.inputs;
    this.#windowMs = parts.windowMs;
  }

  /** Record one change of state, durably. `attempt` omitted: as it was. */
  step(row: OperationRow, change: OperationChange, attempt: Attempt = row.attempt): OperationRow {
    return this.#store.write(() => this.#put(row, change, attempt));
  }

  /** An attempt starts: from here on a crash may have lost its result. */
  begin(row: OperationRow): OperationRow {
    if (row.status === "queued") return this.step(row, { type: "begin" }, "started");
    if (row.attempt !== "idle") return row;
    return this.#store.write(() => {
      const started: OperationRow = { ...row, attempt: "started" };
      this.#store.operations.put(started);
      return started;
    });
  }

  /** The renewed transfer value and the way back into the queue are one step (HA-136). */
  replenish(row: OperationRow, values: Readonly<Record<string, string>>, expiresAtMs: number): OperationRow {
    return this.#store.write(() => {
      this.#inputs.renew(row.id, values, expiresAtMs);
      return this.#put(row, { type: "replenish" }, "idle");
    });
  }

  /** A Form's bookkeeping and the effect known so far, durable before it goes on (HA-175). */
  note(
    row: OperationRow,
    adapter: FormAdapter,
    backend: JsonObject,
    effect: "none" | "partial" | "unknown",
  ): OperationRow {
    return this.#store.write(() => {
      const resource = this.#resource(row);
      this.#putResource(adapter, { ...resource, backend });
      return this.#put(row, { type: "note", effect }, effect === "unknown" ? "dispatched" : "started");
    });
  }

  succeed(row: OperationRow, adapter: FormAdapter, outcome: Succeeded): Written {
    return this.#store.write(() => {
      const before = this.#resource(row);
      const around = this.#neighbours(row.resourceUid);
      const nowMs = this.#clock.nowMs();
      this.#settle(row, { type: "succeed" });
      if (row.action === "delete") {
        this.#store.resources.remove(before, nowMs);
        return { before, after: null, neighbours: around };
      }
      const after: ResourceRow = {
        ...before,
        phase: "idle",
        observedGeneration: row.generation,
        observedAtMs: nowMs,
        observed: outcome.observed,
        output: outcome.output ?? before.output,
        backend: outcome.backend === undefined ? before.backend : outcome.backend,
        wakeAtMs: outcome.wakeAtMs ?? null,
      };
      this.#putResource(adapter, after);
      // The earlier spec is replaced now; what it referred to is free unless the bookkeeping still uses it.
      this.#store.resources.setReferences(after.uid, "previous", []);
      return { before, after, neighbours: [...around, ...this.#neighbours(after.uid)] };
    });
  }

  /** HA-110, HA-176: the last observation, output and bookkeeping stay, and the same UID stays responsible. */
  fail(row: OperationRow, adapter: FormAdapter | null, outcome: Omit<Failed, "type">): Written {
    return this.#store.write(() => {
      const before = this.#resource(row);
      const error = { code: outcome.code, message: outcome.message };
      this.#settle(row, { type: "fail", effect: outcome.effect, error });
      const after: ResourceRow = {
        ...before,
        phase: "error",
        ...(outcome.observed === undefined ? {} : { observed: outcome.observed, observedAtMs: this.#clock.nowMs() }),
        backend: outcome.backend === undefined ? before.backend : outcome.backend,
      };
      this.#putResource(adapter, after);
      return { before, after, neighbours: this.#neighbours(after.uid) };
    });
  }

  /** A new look at a settled Resource. Call it inside a transaction. The generation never moves. */
  observe(adapter: FormAdapter, before: ResourceRow, observation: Observation): Written {
    const after: ResourceRow = {
      ...before,
      observed: observation.observed,
      observedAtMs: this.#clock.nowMs(),
      backend: observation.backend === undefined ? before.backend : observation.backend,
      wakeAtMs: observation.wakeAtMs ?? null,
    };
    const around = this.#neighbours(before.uid);
    this.#putResource(adapter, after);
    return { before, after, neighbours: [...around, ...this.#neighbours(after.uid)] };
  }

  #settle(row: OperationRow, change: OperationChange): void {
    this.#put(row, change, "idle");
    this.#inputs.release(row.id);
  }

  #put(row: OperationRow, change: OperationChange, attempt: Attempt): OperationRow {
    const after = { ...changed(row, change, this.#clock.nowMs(), this.#windowMs), attempt };
    this.#store.operations.put(after);
    return after;
  }

  #putResource(adapter: FormAdapter | null, row: ResourceRow): void {
    this.#store.resources.put(row);
    if (adapter?.activeReferences === undefined) return;
    const active = adapter.activeReferences(row.backend).map((reference) => reference.uid as ResourceUid);
    this.#store.resources.setReferences(row.uid, "active", active);
  }

  #resource(row: OperationRow): ResourceRow {
    const resource = this.#store.resources.get(row.resourceUid);
    invariant(resource !== null, "an unfinished operation has its resource");
    return resource;
  }

  #neighbours(uid: ResourceUid): readonly ResourceUid[] {
    const { resources } = this.#store;
    return [...resources.referentsOf(uid), ...resources.referrersOf(uid)].map((row) => row.uid);
  }
}
