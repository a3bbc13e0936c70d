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

/** Changes of one Resource's observation in one wave; a few settle whatever Forms agree upon. */
const CHANGES_MAX = 8;

export class Neighbourhood {
  readonly #parts: NeighbourhoodParts;

  constructor(parts: NeighbourhoodParts) {
    this.#parts = parts;
  }

  /** Spread the news of `written`: whoever stands next to a change looks again, as far as the changes reach. */
  spread(written: Written): void {
    this.#project(written.before, written.after, written.before);
    this.#wave(written.neighbours, written.before.uid);
  }

  /** Look again at one Resource, and spread the news if there are any. */
  look(uid: ResourceUid): void {
    this.#wave([uid], null);
  }

  /** Tell the runtime about a Resource at start (F3). */
  introduce(row: ResourceRow): void {
    this.#project(row, row, null);
  }

  /**
   * A Resource may look several times: when it stands on two sides of a change, the far side shows only in a later
   * round. The wave ends when nothing changes any more; two Forms that contradict each other for ever are cut off.
   * `held` is the Resource in whose lane this runs, after its own work has ended.
   */
  #wave(start: readonly ResourceUid[], held: ResourceUid | null): void {
    const changes = new Map<ResourceUid, number>();
    let wave: readonly ResourceUid[] = start;
    while (wave.length > 0) {
      const fresh = [...new Set(wave)].filter((uid) => (changes.get(uid) ?? 0) < CHANGES_MAX);
      const seen = this.#lookAgain(fresh, held);
      for (const { before } of seen) changes.set(before.uid, (changes.get(before.uid) ?? 0) + 1);
      wave = seen.flatMap((it) => it.neighbours);
    }
    for (const [uid, count] of changes) {
      if (count === CHANGES_MAX) this.#parts.log.error("a Resource does not come to rest", { uid });
    }
  }

  #lookAgain(uids: readonly ResourceUid[], held: ResourceUid | null): readonly Written[] {
    const seen: Written[] = [];
    const observations = uids.flatMap((uid) => this.#observation(uid, held));
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

  #observation(
    uid: ResourceUid,
    held: ResourceUid | null,
  ): readonly { adapter: FormAdapter; row: ResourceRow; observation: Observation }[] {
    const { store, forms, lanes, view, log } = this.#parts;
    const row = store.resources.get(uid);
    const adapter = row === null ? null : forms.find(row.form);
    if (row === null || adapter?.observe === undefined || !isSettled(row)) return [];
    if (uid !== held && lanes.runs(uid)) {
      // F4: never beside a wake of the same Resource; right after it instead.
      lanes.add(uid, async () => this.#wave([uid], uid));
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
