// Where the runtime looks a Version up when an event for it arrives. Everything is read from the records at that
// moment, so nothing here can be stale, and nothing needs rebuilding at start.
import { AtollError } from "../../base/errors.ts";
import type { ResourceUid } from "../../base/ids.ts";
import type { BindingSpec, VersionCatalog, VersionSpec } from "../../runtime/workers/worker-runtime.ts";
import type { ControlView, ResourceRecord, SecretVault } from "../forms/form.ts";
import { MODULE_WORKER, WORKER_BUNDLE, WORKER_VERSION } from "../forms/form-urls.ts";
import { find } from "../forms/standing.ts";
import { graphOf } from "../forms/worker-bundle/observation.ts";
import { BINDING_KINDS } from "../forms/worker-version/binding-kinds.ts";
import { projectVars } from "../forms/worker-version/env-vars.ts";
import { versionStanding } from "../forms/worker-version/offer.ts";
import { bindingsOf, parseWorkerVersion, type WorkerVersionSpec } from "../forms/worker-version/spec.ts";

export interface WorkerCatalogDeps {
  readonly view: ControlView;
  readonly vault: SecretVault;
}

export class WorkerCatalog implements VersionCatalog {
  readonly #view: ControlView;
  readonly #vault: SecretVault;

  constructor(deps: WorkerCatalogDeps) {
    this.#view = deps.view;
    this.#vault = deps.vault;
  }

  /** Null unless the Version is Ready and all it needs is there now (WV-55, WV-88). */
  version(versionUid: ResourceUid): VersionSpec | null {
    const record = this.#readyVersion(versionUid);
    if (record === null) return null;
    const spec = parseWorkerVersion(record.spec);
    const worker = find(this.#view, spec.worker, MODULE_WORKER);
    const bundle = spec.bundle === null ? null : find(this.#view, spec.bundle, WORKER_BUNDLE);
    const graph = bundle === null ? null : graphOf(bundle);
    const bindings = this.#bindings(spec);
    if (worker === null || graph === null || bindings === null) return null;
    return {
      versionUid,
      workerUid: worker.uid,
      workerName: worker.name,
      versionName: record.name,
      space: record.space,
      graph,
      handlers: spec.handlers,
      vars: projectVars(spec.vars),
      secretNames: spec.requiredSensitiveVars,
      bindings,
    };
  }

  /**
   * Exactly the declared names (WV-53). Rejects with `backend_unavailable` when a value is lost or cannot be unsealed:
   * code never runs with an incomplete `env` (WV-48).
   */
  async secrets(versionUid: ResourceUid): Promise<Readonly<Record<string, string>>> {
    const record = this.#readyVersion(versionUid);
    if (record === null) throw new AtollError("backend_unavailable", "The Version is not ready.");
    const names = parseWorkerVersion(record.spec).requiredSensitiveVars;
    if (names.length === 0) return {};
    const kept = (await this.#vault.reveal(versionUid)) ?? {};
    return Object.fromEntries(
      names.map((name) => {
        const value = Object.hasOwn(kept, name) ? kept[name] : undefined;
        if (value === undefined) throw new AtollError("backend_unavailable", "A secret of the Version is lost.");
        return [name, value];
      }),
    );
  }

  #readyVersion(versionUid: ResourceUid): ResourceRecord | null {
    const record = find(this.#view, versionUid, WORKER_VERSION);
    return record !== null && versionStanding(record) === "verified" ? record : null;
  }

  #bindings(spec: WorkerVersionSpec): readonly BindingSpec[] | null {
    const provided = bindingsOf(spec).map(({ field, binding }) => {
      return BINDING_KINDS[field].provide?.(this.#view, binding) ?? null;
    });
    return provided.includes(null) ? null : provided.filter((it) => it !== null);
  }
}
