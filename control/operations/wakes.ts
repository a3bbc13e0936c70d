// Wakes: a Form asked to look at a Resource again at a certain time (e.g. to retire what an update left behind). The
// time is durable; one timer waits for the earliest.
import type { Cancel, Clock } from "../../base/clock.ts";
import type { ResourceUid } from "../../base/ids.ts";
import type { Logger } from "../../base/log.ts";
import type { ControlStore } from "../../storage/control/control-store.ts";
import type { ControlView } from "../forms/form.ts";
import type { FormRegistry } from "../forms/registry.ts";
import type { Lanes } from "./lanes.ts";
import type { Ledger, Written } from "./ledger.ts";

/** How long a wake that failed waits, in milliseconds. */
const RETRY_MS = 30_000;

export class Wakes {
  readonly #parts: WakeParts;
  readonly #queued = new Set<ResourceUid>();
  #cancel: Cancel = () => {};
  #stopped = true;

  constructor(parts: WakeParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#stopped = false;
    this.arm();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel();
  }

  /** Queue what is due and set the timer for what comes next. Cheap; call it whenever a wake may have changed. */
  arm(): void {
    if (this.#stopped) return;
    const { store, clock, lanes } = this.#parts;
    const nowMs = clock.nowMs();
    for (const uid of store.resources.dueWakes(nowMs)) {
      if (this.#queued.has(uid)) continue;
      this.#queued.add(uid);
      lanes.add(uid, () => this.#wake(uid));
    }
    this.#cancel();
    const nextMs = store.resources.earliestWakeMs(nowMs);
    if (nextMs !== null) this.#cancel = clock.after(nextMs - nowMs, () => this.arm());
  }

  async #wake(uid: ResourceUid): Promise<void> {
    this.#queued.delete(uid);
    try {
      await this.#look(uid);
    } finally {
      this.arm();
    }
  }

  async #look(uid: ResourceUid): Promise<void> {
    const { store, forms, view, ledger, clock, log } = this.#parts;
    const row = store.resources.get(uid);
    // An Operation may have been accepted meanwhile; its settlement arms the wakes again.
    if (row === null || row.wakeAtMs === null || row.wakeAtMs > clock.nowMs() || isBusy(row.phase)) return;
    const adapter = forms.find(row.form);
    let observation = null;
    try {
      observation = (await adapter?.wake?.({ resource: row, spec: adapter.parse(row.spec) }, view)) ?? null;
    } catch (error) {
      log.error("a Form failed to wake for a Resource", { uid, form: row.form, error });
      this.#moveWake(uid, clock.nowMs() + RETRY_MS);
      return;
    }
    // Read again: while the Form looked, a new generation may have been accepted. What it found out is still true.
    const now = store.resources.get(uid);
    if (observation === null || adapter === null || now === null) {
      this.#moveWake(uid, null);
      return;
    }
    this.#parts.woken(store.write(() => ledger.observe(adapter, now, observation)));
  }

  #moveWake(uid: ResourceUid, wakeAtMs: number | null): void {
    const { store } = this.#parts;
    const row = store.resources.get(uid);
    if (row !== null) store.write(() => store.resources.put({ ...row, wakeAtMs }));
  }
}

function isBusy(phase: string): boolean {
  return phase === "pending" || phase === "deleting";
}

interface WakeParts {
  readonly store: ControlStore;
  readonly forms: FormRegistry;
  readonly view: ControlView;
  readonly ledger: Ledger;
  readonly lanes: Lanes;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called in the same turn of the event loop as the commit of a new observation. */
  readonly woken: (written: Written) => void;
}
