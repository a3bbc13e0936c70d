// What follows when a record was written: the runtime is told, neighbours look again, and Operations that waited for a
// neighbour are tried at once. All of it happens in the same turn of the event loop as the commit before it, so nobody
// sees a settled Operation whose consequences are missing (F3).
import { isDeepStrictEqual } from "node:util";
import type { ResourceUid } from "../../base/ids.ts";
import { invariant } from "../../base/invariant.ts";
import type { Logger } from "../../base/log.ts";
import type { ControlStore } from "../../storage/control/control-store.ts";
import type { ResourceRow } from "../../storage/control/records.ts";
import type { ControlView, FormAdapter, Observation } from "../forms/form.ts";
import type { FormRegistry } from "../forms/registry.ts";
import type { Lanes } from "./lanes.ts";
import type { Ledger, Written } from "./ledger.ts";

export class Neighbourhood {
  readonly #parts: NeighbourhoodParts;

  constructor(parts: NeighbourhoodParts) {
    this.#parts = parts;
  }

  /** Spread the news of `written`. Each Resource looks again at most once, so the wave ends. */
  spread(written: Written): void {
    this.#project(written.before, written.after, written.before);
    this.#wave(written.neighbours, new Set([written.before.uid]));
  }

  /** Look again at one Resource, and spread the news if there are any. */
  look(uid: ResourceUid): void {
    this.#wave([uid], new Set());
  }

  /** Tell the runtime about a Resource at start (F3). */
  introduce(row: ResourceRow): void {
    this.#project(row, row, null);
  }

  #wave(start: readonly ResourceUid[], visited: Set<ResourceUid>): void {
    let wave = start;
    while (wave.length > 0) {
      const fresh = [...new Set(wave)].filter((uid) => !visited.has(uid));
      for (const uid of fresh) visited.add(uid);
      wave = this.#lookAgain(fresh).flatMap((seen) => seen.neighbours);
    }
  }

  #lookAgain(uids: readonly ResourceUid[]): readonly Written[] {
    const seen: Written[] = [];
    const observations = uids.flatMap((uid) => this.#observation(uid));
    if (observations.length > 0) {
      this.#parts.store.write(() => {
        for (const { adapter, row, observation } of observations) {
          seen.push(this.#parts.ledger.observe(adapter, row, observation));
        }
      });
    }
    for (const { before, after } of seen) this.#project(before, after, before);
    for (const uid of uids) this.#parts.neighbourSettled(uid);
    return seen;
  }

  #observation(uid: ResourceUid): readonly { adapter: FormAdapter; row: ResourceRow; observation: Observation }[] {
    const { store, forms, lanes, view, log } = this.#parts;
    const row = store.resources.get(uid);
    const adapter = row === null ? null : forms.find(row.form);
    if (row === null || adapter?.observe === undefined || !isSettled(row)) return [];
    if (lanes.runs(uid)) {
      // F4: never beside a wake of the same Resource; right after it instead.
      lanes.add(uid, async () => this.look(uid));
      return [];
    }
    try {
      const observation = adapter.observe({ resource: row, spec: adapter.parse(row.spec) }, view);
      return observation === null || isKnown(row, observation) ? [] : [{ adapter, row, observation }];
    } catch (error) {
      log.error("a Form failed to observe a Resource", { uid, form: row.form, error });
      return [];
    }
  }

  /** A Form that fails here must not keep the others from starting, nor undo what is durable. */
  #project(subject: ResourceRow, record: ResourceRow | null, last: ResourceRow | null): void {
    const { forms, log } = this.#parts;
    try {
      forms.find(subject.form)?.project?.(subject.uid, record, last);
    } catch (error) {
      log.error("a Form failed to bring the runtime into line", { uid: subject.uid, form: subject.form, error });
    }
  }
}

interface NeighbourhoodParts {
  readonly store: ControlStore;
  readonly forms: FormRegistry;
  readonly view: ControlView;
  readonly ledger: Ledger;
  readonly lanes: Lanes;
  readonly log: Logger;
  /** Called for each Resource next to one that changed: something may be waiting for that. */
  readonly neighbourSettled: (uid: ResourceUid) => void;
}

/** Writing down again what stands there already would cost a sync and tell nobody anything. */
function isKnown(row: ResourceRow, { observed, backend, wakeAtMs }: Observation): boolean {
  return (
    isDeepStrictEqual(observed, row.observed) &&
    (backend === undefined || isDeepStrictEqual(backend, row.backend)) &&
    (wakeAtMs ?? null) === row.wakeAtMs
  );
}

/** Nothing is known yet about a Resource whose first Operation did not succeed, and observing must not pretend. */
function isSettled(row: ResourceRow): boolean {
  invariant(row.observedGeneration <= row.generation, "nothing observed runs ahead of what was accepted");
  return row.phase === "idle" || (row.phase === "error" && row.observedGeneration > 0);
}
