import type { ResourceUid } from "../../../base/ids.ts";
import type {
  Distribution,
  InspectReport,
  ModuleGraph,
  RouteProbe,
  WorkerRuntime,
} from "../../../runtime/workers/worker-runtime.ts";

/** A runtime that remembers what it was told and answers what the test set. */
export class FakeRuntime implements WorkerRuntime {
  readonly distributions = new Map<ResourceUid, Distribution>();
  readonly hostnames = new Map<string, ResourceUid>();
  readonly contexts = new Map<ResourceUid, number>();
  /** Every call that changes something, in order. */
  readonly calls: string[] = [];
  /** What an inspection of the graph with this entrypoint answers; by default a Worker with `fetch`. */
  readonly reports = new Map<string, InspectReport | Error>();
  /** Versions whose retirement is not proved until the test says so. */
  readonly #stubborn = new Map<ResourceUid, PromiseWithResolvers<void>>();
  tlsReady: boolean | undefined = true;
  probeFault: Error | null = null;
  /** The next inspections wait for it. */
  inspecting: Promise<void> = Promise.resolve();

  async inspect(graph: ModuleGraph): Promise<InspectReport> {
    this.calls.push(`inspect ${graph.entrypoint}`);
    await this.inspecting;
    const report = this.reports.get(graph.entrypoint) ?? { ok: true, handlers: ["fetch"], classes: [] };
    if (report instanceof Error) throw report;
    return report;
  }

  setDistribution(workerUid: ResourceUid, distribution: Distribution | null): void {
    this.calls.push(`distribution ${workerUid} ${distribution === null ? "closed" : "set"}`);
    if (distribution === null) this.distributions.delete(workerUid);
    else this.distributions.set(workerUid, distribution);
  }

  setHostname(hostname: string, workerUid: ResourceUid | null): void {
    this.calls.push(`hostname ${hostname} ${workerUid ?? "removed"}`);
    if (workerUid === null) this.hostnames.delete(hostname);
    else this.hostnames.set(hostname, workerUid);
  }

  contextsOf(versionUid: ResourceUid): number {
    return this.contexts.get(versionUid) ?? 0;
  }

  async retire(versionUid: ResourceUid): Promise<void> {
    this.calls.push(`retire ${versionUid}`);
    await this.#stubborn.get(versionUid)?.promise;
    this.contexts.delete(versionUid);
  }

  async probe(hostname: string): Promise<RouteProbe> {
    if (this.probeFault !== null) throw this.probeFault;
    const worker = this.hostnames.get(hostname);
    return {
      ...(this.tlsReady !== undefined && { tlsReady: this.tlsReady }),
      activeDeploymentRouteReady: worker !== undefined && this.distributions.has(worker),
    };
  }

  /** From now on retirement of the Version hangs; call the result to give the proof, or to reject. */
  holdRetirement(versionUid: ResourceUid): { prove(): void; fail(error: Error): void } {
    const proof = Promise.withResolvers<void>();
    proof.promise.catch(() => {});
    this.#stubborn.set(versionUid, proof);
    return {
      prove: () => {
        this.#stubborn.delete(versionUid);
        proof.resolve();
      },
      fail: (error) => {
        this.#stubborn.delete(versionUid);
        proof.reject(error);
      },
    };
  }

  /** The weights a Worker selects from, as `{version: weight}`; null while selection is closed. */
  weightsOf(workerUid: ResourceUid): Record<string, number> | null {
    const entries = this.distributions.get(workerUid)?.entries;
    return entries === undefined ? null : Object.fromEntries(entries.map((it) => [it.versionUid, it.weight]));
  }
}
