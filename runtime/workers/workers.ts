// Runs Workers: chooses the Version of each event, keeps its cells, carries calls between Workers.
//
//   W1. An event runs on the Version that was drawn when it was accepted, or fails visibly; never on another (WD-16).
//   W2. A retired Version has no running code: every cell has proved its end (WD-44).
import type { Clock } from "../../base/clock.ts";
import { AtollError } from "../../base/errors.ts";
import type { ResourceUid } from "../../base/ids.ts";
import type { Logger } from "../../base/log.ts";
import type { Random } from "../../base/random.ts";
import {
  type CellOwner,
  type CellPhase,
  type CellResponse,
  CellStopped,
  HandlerFailed,
  type OutboundAnswer,
  type OutboundCall,
  type RequestBody,
  type RequestHead,
  type Running,
  type StopReason,
} from "../../sandbox/cell.ts";
import type { HostedCell } from "../../sandbox/hosted-cell.ts";
import { openCell } from "../../sandbox/open-cell.ts";
import type { CellLimits } from "../../sandbox/watchdogs/cell-watchdog.ts";
import { inspect } from "./inspection.ts";
import { flattenPairs, unflatten } from "./flat-headers.ts";
import { InvalidModule, loadable, type Loadable } from "./load-spec.ts";
import type { Outbound } from "./outbound.ts";
import { pickVersion } from "./selection.ts";
import { type ServiceChain, ServiceChains } from "./service-chains.ts";
import { type PooledCell, VersionCells } from "./version-cells.ts";
import type { WorkerLog, WorkerLogEntry } from "./worker-log.ts";
import type {
  Distribution,
  HandlerName,
  InspectReport,
  ModuleBytes,
  ModuleGraph,
  RouteProbe,
  VersionCatalog,
  VersionSpec,
  WorkerRuntime,
} from "./worker-runtime.ts";

export interface WorkersLimits extends CellLimits {
  /** Cells of all Versions at one time; the longest idle one makes room for another. */
  readonly cellsMax: number;
  /** Cells of one Version while its others are blocked. */
  readonly cellsPerVersionMax: number;
  /** A cell without work for so long is closed. */
  readonly idleMs: number;
}

export const DEFAULT_WORKERS_LIMITS: WorkersLimits = {
  cpuMs: 30_000,
  memoryBytes: 256 * 2 ** 20,
  cellsMax: 512,
  cellsPerVersionMax: 4,
  idleMs: 120_000,
};

export interface WorkersParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly workerLog: WorkerLog;
  readonly limits: WorkersLimits;
  readonly catalog: VersionCatalog;
  readonly bytes: ModuleBytes;
  readonly outbound: Outbound;
  /** Check a host name the way a client would meet it. */
  probe(hostname: string, routeReady: boolean): Promise<RouteProbe>;
  /** A cell cannot be stopped: only the end of this process can (see CellOptions). */
  onStuckCell(): void;
}

/** Filled in while an event is started: what it runs on, for whoever tells about it afterwards. */
export interface Trace {
  version: VersionSpec | null;
  /** The two halves of the invocation's name; 0 for none. */
  cell: number;
  id: number;
}

const BLOCKED_MS = 250;
const LOAD_WALL_MS = 30_000;
const CLOSE_GRACE_MS = 5_000;
const RETIRE_GRACE_MS = 1_000;
const EVICT_GRACE_MS = 5_000;
const RECLAIM_EVERY_MS = 10_000;

/** What the people behind a Worker are told when it was ended. */
const STOPPED: Readonly<Record<Exclude<StopReason, "retired">, string>> = {
  cpu: "Stopped: the Worker used more CPU time than one event may",
  memory: "Stopped: the Worker used more memory than it may",
  crashed: "Stopped: the Worker's cell ended unexpectedly",
};

/** An answer that the host makes by itself, without a cell. */
const NOT_FOUND: CellResponse = { status: 404, statusText: "", headers: "", body: null, bodyBytes: null };

export class Workers implements WorkerRuntime {
  readonly #parts: WorkersParts;
  readonly #distributions = new Map<ResourceUid, Distribution>();
  readonly #hostnames = new Map<string, ResourceUid>();
  readonly #versions = new Map<ResourceUid, VersionCells>();
  #stopReclaiming: (() => void) | null = null;
  #cellSerial = 0;
  #stopped = false;

  constructor(parts: WorkersParts) {
    this.#parts = parts;
  }

  setDistribution(workerUid: ResourceUid, distribution: Distribution | null): void {
    if (distribution === null) this.#distributions.delete(workerUid);
    else this.#distributions.set(workerUid, distribution);
  }

  setHostname(hostname: string, workerUid: ResourceUid | null): void {
    if (workerUid === null) this.#hostnames.delete(hostname);
    else this.#hostnames.set(hostname, workerUid);
  }

  /** The Worker behind a host name, lower case and without port. */
  workerAt(hostname: string): ResourceUid | null {
    return this.#hostnames.get(hostname) ?? null;
  }

  contextsOf(versionUid: ResourceUid): number {
    return this.#versions.get(versionUid)?.running ?? 0;
  }

  inspect(graph: ModuleGraph): Promise<InspectReport> {
    return inspect(graph, {
      clock: this.#parts.clock,
      bytes: this.#parts.bytes,
      openCell: (content, owner) => this.#openCell(content, owner),
    });
  }

  async retire(versionUid: ResourceUid): Promise<void> {
    const cells = this.#versions.get(versionUid);
    if (cells === undefined) return;
    await cells.retire(RETIRE_GRACE_MS);
    if (this.#versions.get(versionUid) === cells) this.#versions.delete(versionUid);
  }

  async probe(hostname: string): Promise<RouteProbe> {
    const workerUid = this.#hostnames.get(hostname);
    return this.#parts.probe(hostname, workerUid !== undefined && this.#distributions.has(workerUid));
  }

  /**
   * Run the Worker's HTTP path for one request; `trace` is told what it runs on. Rejects with
   * `backend_unavailable` when the event could not be started;
   * everything after that is told by the Running.
   */
  fetch(
    workerUid: ResourceUid,
    head: RequestHead,
    body: RequestBody,
    chain: ServiceChain | null = null,
    trace: Trace | null = null,
  ): Running<CellResponse> | Promise<Running<CellResponse>> {
    const cells = this.#draw(workerUid);
    if (trace !== null) trace.version = cells.version;
    if (!cells.version.handlers.includes("fetch")) return settled(NOT_FOUND);
    const cell = cells.readyCell();
    if (cell !== null) return this.#start(cells, cell, head, body, chain, trace);
    return cells.acquire().then((acquired) => this.#start(cells, acquired, head, body, chain, trace));
  }

  /** Run `scheduled` (or another event handler) of the Worker; `json` is its first argument (MW-45, MW-49). */
  async event(workerUid: ResourceUid, handler: HandlerName, json: string): Promise<Running<unknown>> {
    const cells = this.#draw(workerUid);
    if (!cells.version.handlers.includes(handler)) {
      throw new AtollError("backend_unavailable", `the Worker's Version declares no ${handler} handler`);
    }
    const cell = await cells.acquire();
    const running = cell.event(handler, json);
    this.#follow(cells, cell, running, null);
    return running;
  }

  /** End every cell of the Worker, as an idle Worker's cells end; see VersionCells. Resolves to their number. */
  async evict(workerUid: ResourceUid): Promise<number> {
    const its = [...this.#versions.values()].filter(({ version }) => version.workerUid === workerUid);
    const counts = await Promise.all(its.map((cells) => cells.evict(EVICT_GRACE_MS)));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /** Cancel everything and resolve when all cells have ended. */
  async stop(graceMs: number): Promise<void> {
    this.#stopped = true;
    this.#stopReclaiming?.();
    await Promise.all([...this.#versions.values()].map((cells) => cells.retire(graceMs)));
  }

  /** Invocations under way on this node. */
  get running(): number {
    let sum = 0;
    for (const cells of this.#versions.values()) sum += cells.running;
    return sum;
  }

  /** Cells of all Versions. */
  cellPhases(): Readonly<Record<CellPhase["phase"], number>> {
    const counts = { starting: 0, live: 0, stopping: 0, closed: 0 };
    for (const cells of this.#versions.values()) for (const phase of cells.phases()) counts[phase] += 1;
    return counts;
  }

  #draw(workerUid: ResourceUid): VersionCells {
    const distribution = this.#distributions.get(workerUid);
    const versionUid = distribution === undefined ? null : pickVersion(distribution, this.#parts.random);
    if (versionUid === null || this.#stopped) {
      throw new AtollError("backend_unavailable", "the Worker has no active Deployment");
    }
    const known = this.#versions.get(versionUid);
    if (known !== undefined) return known;
    const version = this.#parts.catalog.version(versionUid);
    if (version === null) throw new AtollError("backend_unavailable", "the selected Version is not ready");
    return this.#cellsFor(version);
  }

  #cellsFor(version: VersionSpec): VersionCells {
    const { clock, limits } = this.#parts;
    const cells = new VersionCells(version, {
      clock,
      cellsMax: limits.cellsPerVersionMax,
      blockedMs: BLOCKED_MS,
      loadWallMs: LOAD_WALL_MS,
      open: (spec) => this.#openVersion(spec),
    });
    this.#versions.set(version.versionUid, cells);
    this.#stopReclaiming ??= clock.after(RECLAIM_EVERY_MS, this.#reclaim);
    return cells;
  }

  #start(
    cells: VersionCells,
    cell: PooledCell,
    head: RequestHead,
    body: RequestBody,
    chain: ServiceChain | null,
    trace: Trace | null,
  ): Running<CellResponse> {
    const running = cell.fetch(head, body);
    if (trace !== null) {
      trace.cell = this.#serials.get(cell) ?? 0;
      trace.id = running.id;
    }
    this.#follow(cells, cell, running, chain);
    return running;
  }

  /** The number of a cell within this run of the node: the first half of an invocation's name. */
  readonly #serials = new WeakMap<PooledCell, number>();

  readonly #chains = new ServiceChains();

  /** Only what can call others costs its place in a chain. */
  #follow(cells: VersionCells, cell: PooledCell, running: Running<unknown>, chain: ServiceChain | null): void {
    if (cells.version.bindings.some(({ kind }) => kind === "service")) this.#chains.begin(cell, running, chain);
  }

  async #openVersion(version: VersionSpec): Promise<PooledCell> {
    const { catalog, bytes, log } = this.#parts;
    let content: Loadable;
    try {
      content = await loadable(version, await catalog.secrets(version.versionUid), bytes);
    } catch (error) {
      const known = error instanceof AtollError || error instanceof InvalidModule;
      log.warn("a Version cannot be loaded", {
        version: version.versionUid,
        reason: known ? error.message : "internal",
      });
      throw error;
    }
    this.#makeRoom();
    const serial = ++this.#cellSerial;
    const cell: HostedCell = this.#openCell(content, {
      call: (call) => this.#call(version, cell, call),
      log: ({ invocation, level, message, kind }) =>
        this.#tell(version, kind, invocation === 0 ? null : `${serial}-${invocation}`, level, message),
    });
    this.#serials.set(cell, serial);
    void cell.closed.then((reason) => {
      if (reason === "retired") return;
      log.warn("a cell ended", { worker: version.workerName, version: version.versionUid, reason });
      this.#tell(version, "error", null, "error", STOPPED[reason]);
    });
    return cell;
  }

  #tell(
    version: VersionSpec,
    kind: WorkerLogEntry["kind"],
    invocation: string | null,
    level: WorkerLogEntry["level"],
    message: string,
  ): void {
    this.#parts.workerLog.write({
      kind,
      atMs: this.#parts.clock.nowMs(),
      space: version.space,
      worker: version.workerName,
      workerUid: version.workerUid,
      version: version.versionName,
      versionUid: version.versionUid,
      invocation,
      level,
      message,
    });
  }

  #openCell(content: Loadable, owner: CellOwner): HostedCell {
    const { clock, limits } = this.#parts;
    return openCell(content.spec, content.blocks, {
      clock,
      limits,
      owner,
      closeGraceMs: CLOSE_GRACE_MS,
      onStuck: () => this.#parts.onStuckCell(),
    });
  }

  async #call(version: VersionSpec, caller: PooledCell, call: OutboundCall): Promise<OutboundAnswer> {
    if (call.kind === "service") return this.#serviceCall(version, caller, call);
    const { method, url, headers, body, redirect, signal } = call;
    const response = await this.#parts.outbound.fetch(
      { method, url, headers: unflatten(headers), body, redirect, party: version.workerUid },
      signal,
    );
    return { ...response, headers: flattenPairs(response.headers) };
  }

  /** MW-70 … MW-76: to the logical Worker, by its active Deployment; an uncaught exception is the target's own 500. */
  async #serviceCall(version: VersionSpec, caller: PooledCell, call: OutboundCall): Promise<OutboundAnswer> {
    const binding = version.bindings.find(({ kind, name }) => kind === "service" && name === call.target);
    if (binding === undefined) throw new AtollError("backend_unavailable", "there is no such service binding");
    const chain = this.#chains.next(caller, call.invocation);
    const { method, url, headers, body, signal } = call;
    const running = await this.fetch(binding.workerUid, { method, url, headers }, body, chain);
    const abort = (): void => running.abort();
    // The caller may have gone while a cell was made ready.
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort);
    void running.ended.then(() => signal.removeEventListener("abort", abort));
    try {
      const response = await running.result;
      return { ...response, url, redirected: false };
    } catch (error) {
      return { status: statusOfFailure(error), statusText: "", headers: "", body: null, url, redirected: false };
    }
  }

  readonly #reclaim = (): void => {
    for (const [uid, cells] of this.#versions) {
      cells.reclaim(this.#parts.limits.idleMs);
      if (cells.size === 0 && cells.idleMs() > this.#parts.limits.idleMs) this.#versions.delete(uid);
    }
    const more = this.#versions.size > 0 && !this.#stopped;
    this.#stopReclaiming = more ? this.#parts.clock.after(RECLAIM_EVERY_MS, this.#reclaim) : null;
  };

  /** Close the longest idle cells when all places are taken. */
  #makeRoom(): void {
    const open = [...this.#versions.values()].filter(({ size }) => size > 0);
    const excess = open.reduce((sum, { size }) => sum + size, 0) - this.#parts.limits.cellsMax + 1;
    if (excess <= 0) return;
    const idle = open.filter(({ running }) => running === 0).toSorted((a, b) => b.idleMs() - a.idleMs());
    for (const cells of idle.slice(0, excess)) cells.reclaim(0);
    if (idle.length === 0) throw new AtollError("backend_unavailable", "the node runs as many Workers as it may");
  }
}

/** MW-48, and what a client is told when a limit ended its request. */
export function statusOfFailure(error: unknown): 500 | 503 | 504 {
  if (error instanceof HandlerFailed) return 500;
  if (error instanceof CellStopped) return error.reason === "cpu" ? 504 : error.reason === "retired" ? 503 : 500;
  if (error instanceof AtollError && error.code === "backend_unavailable") return 503;
  return 500;
}

function settled(response: CellResponse): Running<CellResponse> {
  return { id: 0, result: Promise.resolve(response), ended: Promise.resolve(), abort: () => {} };
}
