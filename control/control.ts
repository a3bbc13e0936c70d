// The control plane: what should exist, who may say so, and the work of making it so. No HTTP here.
import type { Clock } from "../base/clock.ts";
import { AtollError } from "../base/errors.ts";
import type { ResourceUid } from "../base/ids.ts";
import type { Logger } from "../base/log.ts";
import type { Random } from "../base/random.ts";
import type { ControlStore } from "../storage/control/control-store.ts";
import { isSettled, type OperationRow, type ResourceRow } from "../storage/control/records.ts";
import { HeldInputStore } from "../storage/secrets/held-inputs.ts";
import { Sealer } from "../storage/secrets/sealer.ts";
import type { SecretMap } from "../storage/secrets/secret-map.ts";
import type { ControlConfig } from "./control-config.ts";
import type { FormRegistry, FormSupport } from "./forms/registry.ts";
import { Acceptance } from "./operations/acceptance.ts";
import { Admission, noSuchResource } from "./operations/admission.ts";
import { Attempts } from "./operations/attempt.ts";
import { StoreView } from "./operations/control-view.ts";
import { type Faults, noFaults } from "./operations/faults.ts";
import { Lanes } from "./operations/lanes.ts";
import { Ledger, type Written } from "./operations/ledger.ts";
import type { Mutation, MutationRequest } from "./operations/mutation.ts";
import { Neighbourhood } from "./operations/neighbourhood.ts";
import { type Preview, preview } from "./operations/preview.ts";
import { Reconciler } from "./operations/reconciler.ts";
import { Replenishment, visibleOperation } from "./operations/replenishment.ts";
import { Retention } from "./operations/retention.ts";
import { Settlements } from "./operations/settlements.ts";
import { Wakes } from "./operations/wakes.ts";
import type { Caller } from "./principals/caller.ts";
import { Listing, type ListQuery, type Page } from "./resources/listing.ts";

export interface ControlParts {
  readonly store: ControlStore;
  readonly forms: FormRegistry;
  /** 32 bytes (`loadMasterKey`). */
  readonly masterKey: Uint8Array;
  readonly clock: Clock;
  /** Real time, for callers that wait for an answer, where `clock` moves only when told to. */
  readonly systemClock?: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly config: ControlConfig;
  readonly faults?: Faults;
}

/** Resources looked at again in one turn of the event loop after a start. */
const REVIEW_BATCH = 50;

export class Control {
  readonly config: ControlConfig;
  readonly #parts: ControlParts;
  readonly #inputs: HeldInputStore;
  readonly #view: StoreView;
  readonly #admission: Admission;
  readonly #acceptance: Acceptance;
  readonly #replenishment: Replenishment;
  readonly #listing: Listing;
  readonly #lanes: Lanes;
  readonly #neighbourhood: Neighbourhood;
  readonly #reconciler: Reconciler;
  readonly #wakes: Wakes;
  readonly #retention: Retention;
  readonly #settlements: Settlements;
  readonly #faults: Faults;
  #phase: "new" | "live" | "stopping" = "new";

  constructor(parts: ControlParts) {
    const { store, forms, clock, random, log, config } = parts;
    this.#parts = parts;
    this.config = config;
    this.#faults = parts.faults ?? noFaults;
    const faults = this.#faults;
    const { transferLifetimeMs, replayWindowMs: windowMs, capabilities } = config;
    const inputs = new HeldInputStore(store, new Sealer(parts.masterKey, "private-inputs", random));
    const view = new StoreView(store);
    const ledger = new Ledger({ store, clock, inputs, windowMs });
    const lanes = new Lanes({
      concurrencyMax: config.concurrencyMax,
      failed: (error) => log.error("a job of the reconciler failed", { error }),
    });
    const settled = (written: Written): void => this.#spread(written);
    const attempts = new Attempts({ store, forms, view, ledger, inputs, clock, log, faults, settled });
    this.#settlements = new Settlements(parts.systemClock ?? clock);
    this.#inputs = inputs;
    this.#view = view;
    this.#lanes = lanes;
    this.#admission = new Admission({ store, forms, view, privateInputs: capabilities.privateInputs });
    this.#acceptance = new Acceptance({
      store,
      admission: this.#admission,
      view,
      inputs,
      clock,
      random,
      windowMs,
      transferLifetimeMs,
      unfinishedMax: config.unfinishedMax,
    });
    this.#reconciler = new Reconciler({ store, attempts, lanes, clock, random, log });
    this.#wakes = new Wakes({ store, forms, view, ledger, lanes, clock, log, woken: settled });
    this.#retention = new Retention({ store, clock, log, windowMs, intervalMs: config.sweepIntervalMs });
    this.#neighbourhood = new Neighbourhood({
      store,
      forms,
      view,
      ledger,
      lanes,
      log,
      neighbourSettled: (uid) => this.#reconciler.nudge(uid),
    });
    this.#replenishment = new Replenishment({
      store,
      inputs,
      ledger,
      clock,
      transferLifetimeMs,
      enqueue: (row) => this.#reconciler.enqueue(row),
    });
    const sealer = new Sealer(parts.masterKey, "cursor", random);
    this.#listing = new Listing({ store, sealer, clock, cursorLifetimeMs: config.cursorLifetimeMs });
  }

  /** Bring the runtime into line with every record, and take up every unfinished Operation. */
  start(): void {
    this.#phase = "live";
    const unverifiable = this.#inputs.countUnverifiable();
    if (unverifiable > 0) {
      this.#parts.log.warn("private inputs of Operations were sealed under another key; restore it to replay them", {
        operations: unverifiable,
      });
    }
    this.#introduceAll();
    this.#reconciler.start();
    this.#wakes.start();
    this.#retention.start();
    this.#review(this.#observable(), 0);
  }

  /** Accept nothing more, start no further work, and resolve when what runs has ended. */
  async stop(): Promise<void> {
    this.#phase = "stopping";
    this.#retention.stop();
    this.#wakes.stop();
    this.#reconciler.stop();
    await this.#lanes.close();
  }

  support(form: string): FormSupport {
    return this.#parts.forms.support(form, this.config.capabilities);
  }

  /**
   * Accept a mutation, or find the Operation that the same request became before. Durable when it returns. Throws an
   * AtollError for every refusal; then nothing was accepted.
   */
  accept(caller: Caller, request: MutationRequest): OperationRow {
    this.#requireLive();
    const { operation, fresh } = this.#acceptance.accept(caller, request);
    if (fresh) {
      this.#faults("after-accept", operation.id);
      this.#reconciler.enqueue(operation);
    }
    return operation;
  }

  /** The Operation as it is when it has settled, or after `waitMs`. */
  async settledWithin(operation: OperationRow, waitMs: number): Promise<OperationRow> {
    if (waitMs === 0 || isSettled(operation.status)) return operation;
    await this.#settlements.wait(operation.id, waitMs);
    return this.#parts.store.operations.get(operation.id) ?? operation;
  }

  preview(caller: Caller, mutation: Mutation): Preview {
    return preview(this.#admission, caller, mutation);
  }

  /** Throws `not_found`, `forbidden` or, while a deletion is remembered, `gone` (HA-82). */
  resource(caller: Caller, uid: string): ResourceRow {
    const { resources } = this.#parts.store;
    const row = resources.get(uid);
    const space = row?.space ?? resources.tombstone(uid)?.space;
    if (space === undefined || !caller.knows(space)) throw noSuchResource();
    if (!caller.may("read", space)) throw new AtollError("forbidden", "you may not read Resources in this Space");
    if (row === null) throw new AtollError("gone", "the Resource was deleted");
    return row;
  }

  list(caller: Caller, query: ListQuery): Page<ResourceRow> {
    return this.#listing.page(caller, query);
  }

  operation(caller: Caller, id: string): OperationRow {
    return visibleOperation(this.#parts.store, caller, id, "read");
  }

  replenish(caller: Caller, id: string, values: SecretMap): OperationRow {
    this.#requireLive();
    return this.#replenishment.replenish(caller, id, values);
  }

  /** Numbers for an operator. */
  health(): { readonly resources: number; readonly unfinishedOperations: number } {
    const { resources, operations } = this.#parts.store;
    return { resources: resources.count(), unfinishedOperations: operations.countUnfinished() };
  }

  /** Whether any work on a Resource is under way or waits for its turn; waits for a later time do not count. */
  get busy(): boolean {
    return this.#lanes.busy;
  }

  /** What Forms see; for other parts of the node that answer from the records. */
  get view(): StoreView {
    return this.#view;
  }

  #spread(written: Written): void {
    this.#settlements.settled((written.after ?? written.before).lastOperation);
    try {
      this.#neighbourhood.spread(written);
    } finally {
      this.#wakes.arm();
    }
  }

  /**
   * Forms are introduced in the order of their registration, so that what others build upon comes first. Records that no
   * runtime asks for stay on disk: most of a start is reading.
   */
  #introduceAll(): void {
    const { forms, store } = this.#parts;
    for (const form of forms.forms()) {
      if (forms.find(form)?.project === undefined) continue;
      for (const row of store.resources.allOfForm(form)) this.#neighbourhood.introduce(row);
    }
  }

  #observable(): readonly ResourceUid[] {
    const { forms, store } = this.#parts;
    const observing = forms.forms().filter((form) => forms.find(form)?.observe !== undefined);
    return observing.flatMap((form) => store.resources.uidsOfForm(form));
  }

  /** A crash may have come between a settlement and its neighbours' new look. Made up for without holding up the start. */
  #review(uids: readonly ResourceUid[], from: number): void {
    if (from >= uids.length) return;
    this.#parts.clock.after(0, () => {
      if (this.#phase !== "live") return;
      for (const uid of uids.slice(from, from + REVIEW_BATCH)) this.#neighbourhood.look(uid);
      this.#review(uids, from + REVIEW_BATCH);
    });
  }

  #requireLive(): void {
    if (this.#phase !== "live") throw new AtollError("temporarily_unavailable", "the node is starting or stopping");
  }
}
