// `atoll dev`: a node, the Workers on it, and the cycle from a save to a deployed Version.
import { readFileSync } from "node:fs";
import type { Clock } from "../../base/clock.ts";
import type { Random } from "../../base/random.ts";
import { MODULE_WORKER } from "../../control/forms/form-urls.ts";
import type { LogEntry } from "../../runtime/logs/log-entry.ts";
import { hostnameOf } from "../../runtime/ingress/ingress.ts";
import { converge } from "../deploy/converge.ts";
import type { DeployInput } from "../deploy/input.ts";
import { BuildCycle } from "./build-cycle.ts";
import type { DevEvent, Reporter } from "./dev-event.ts";
import { type DevHost, openDevHost } from "./dev-host.ts";
import type { DevWorker } from "./dev-worker.ts";
import { failureEvent } from "./failure-event.ts";
import { logEvent } from "./log-event.ts";
import { SourceWatcher } from "./source-watcher.ts";

export interface DevServerParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly cwd: string;
  /** The one that answers at `/` first, and each after those that it is bound to. */
  readonly workers: readonly DevWorker[];
  readonly data: string;
  readonly listen: string;
  readonly colour: boolean;
  readonly reporter: Reporter;
  /** When the command began, in monotonic milliseconds. */
  readonly startedMs: number;
  onStuckCell(): void;
}

export class DevServer {
  readonly #parts: DevServerParts;
  readonly #cycle: BuildCycle;
  readonly #watchers: ReadonlyMap<DevWorker, SourceWatcher>;
  readonly #dirty: Set<DevWorker>;
  /** The last failure of each Worker that has one. */
  readonly #failures = new Map<DevWorker, DevEvent & { readonly event: "build_failed" }>();
  /** Built again although nobody saved anything. */
  readonly #unsaved = new Set<DevWorker>();
  #opening: Promise<DevHost> | null = null;
  #origin = "";
  #restarting = false;
  #announced = false;

  constructor(parts: DevServerParts) {
    this.#parts = parts;
    this.#cycle = new BuildCycle(() => this.#build());
    this.#dirty = new Set(parts.workers);
    this.#watchers = new Map(
      parts.workers.map((worker) => [worker, new SourceWatcher(parts.clock, () => this.#changed(worker))]),
    );
  }

  /** Open the node, deploy everything once, and go on by itself. Rejects when the node cannot be opened. */
  async start(): Promise<void> {
    this.#opening = this.#open();
    this.#cycle.change();
    await this.#opening;
  }

  /** Where the first Worker answers. */
  get url(): string {
    return `${this.#origin}/`;
  }

  /** A fresh node on the same data, with the same Workers. */
  async restart(): Promise<void> {
    const before = this.#opening;
    if (before === null || this.#restarting || this.#cycle.state === "closed") return;
    this.#restarting = true;
    const startedMs = this.#parts.clock.monotonicMs();
    try {
      await this.#cycle.rest();
      this.#opening = before.then(async (host) => {
        await host.close();
        return await this.#open(this.#origin);
      });
      await this.#opening;
      this.#parts.reporter.report({ event: "restarted", ms: this.#parts.clock.monotonicMs() - startedMs });
      for (const worker of this.#parts.workers) {
        this.#unsaved.add(worker);
        this.#changed(worker);
      }
    } finally {
      this.#restarting = false;
    }
  }

  /** Stop watching, finish what is under way and close the node. */
  async close(): Promise<void> {
    if (this.#cycle.state === "closed") return;
    await this.#cycle.rest();
    this.#cycle.close();
    for (const watcher of this.#watchers.values()) watcher.close();
    const host = await this.#opening?.catch(() => null);
    await host?.close();
    this.#parts.reporter.report({ event: "stopped" });
  }

  #changed(worker: DevWorker): void {
    this.#dirty.add(worker);
    this.#cycle.change();
  }

  async #build(): Promise<void> {
    const { workers, clock } = this.#parts;
    const startedMs = this.#announced ? clock.monotonicMs() : this.#parts.startedMs;
    const dirty = workers.filter((worker) => this.#dirty.has(worker));
    this.#dirty.clear();
    // Watched before it is read, so that no save falls between the two.
    const sinceMs = clock.nowMs();
    const watch = (): void => {
      for (const worker of dirty) this.#watchers.get(worker)?.watch(worker.watched, sinceMs);
    };
    watch();
    try {
      // While the node opens for the first time, the bundler is at work already.
      const prepared = new Map<DevWorker, DeployInput>();
      for (const worker of dirty) {
        const input = await this.#attempt(worker, () => worker.prepare());
        if (input !== null) prepared.set(worker, input);
      }
      // That the node does not open is told by whoever opens it.
      const host = (await this.#opening?.catch(() => null)) ?? null;
      if (host === null) return;
      if (prepared.size > 0) await this.#makeSure(host);
      // Those that others are bound to come later in the list, and have to be there first.
      for (const [worker, input] of [...prepared].reverse()) {
        await this.#attempt(worker, () => this.#deploy(host, worker, input, startedMs));
      }
      if (this.#cycle.state !== "stale") for (const worker of prepared.keys()) await worker.tidy(host);
    } catch (error) {
      this.#parts.reporter.report({ event: "node", message: error instanceof Error ? error.message : String(error) });
    } finally {
      watch();
    }
  }

  async #deploy(host: DevHost, worker: DevWorker, input: DeployInput, startedMs: number): Promise<void> {
    const { clock, reporter, workers } = this.#parts;
    const { changed, versionName: version } = await worker.deploy(host, input);
    const ms = clock.monotonicMs() - startedMs;
    const { name } = worker.project;
    if (!this.#announced && worker === workers[0]) {
      this.#announced = true;
      reporter.report({ event: "ready", url: this.url, worker: name, ms });
    } else if (this.#announced && changed) {
      reporter.report({ event: "reloaded", worker: name, version, ms });
    } else if (this.#announced && !this.#unsaved.has(worker)) {
      reporter.report({ event: "unchanged", worker: name, ms });
    }
    this.#unsaved.delete(worker);
  }

  /** Null when it failed, which the author has been told. */
  async #attempt<T>(worker: DevWorker, run: () => Promise<T>): Promise<T | null> {
    const { reporter, cwd, colour } = this.#parts;
    try {
      const result = await run();
      this.#failures.delete(worker);
      return result;
    } catch (error) {
      const failure = failureEvent(worker.project.name, error, { cwd, colour, sourceOf });
      this.#failures.set(worker, failure);
      reporter.report(failure);
      return null;
    }
  }

  /** Spaces and Workers exist before any Version is bound to them. */
  async #makeSure({ client, operator }: DevHost): Promise<void> {
    const { workers } = this.#parts;
    for (const { project } of workers) {
      const { space, name } = project;
      if (space !== "default") await operator.createSpace(space);
      // Alone it is nobody's target; its own deployment makes it.
      if (workers.length === 1) continue;
      const wanted = { form: MODULE_WORKER, space, name, spec: {}, what: "Worker", isSame: () => true };
      await converge(client, wanted, () => {});
    }
  }

  async #open(origin = ""): Promise<DevHost> {
    const { clock, random, data, listen, reporter } = this.#parts;
    const host = await openDevHost({
      clock,
      random,
      data,
      listen: origin === "" ? listen : new URL(origin).host,
      onLog: (entry) => this.#log(entry),
      unaddressed: (request, worker) => this.#answer(request, worker),
      complain: (message) => reporter.report({ event: "node", message }),
      onStuckCell: () => this.#parts.onStuckCell(),
    });
    this.#origin = host.origin;
    return host;
  }

  #log(entry: LogEntry): void {
    const { workers, reporter, colour } = this.#parts;
    const worker = workers.find(({ project }) => project.name === entry.worker);
    reporter.report(logEvent(entry, worker?.positionsOf(entry.version) ?? null, colour));
  }

  /** `<name>.localhost` is the Worker of that name; every other host name is the first Worker's. */
  #answer(
    request: Request,
    answerAs: (hostname: string) => Response | Promise<Response> | null,
  ): Response | Promise<Response> | null {
    const { workers } = this.#parts;
    const [label, ...rest] = hostnameOf(request.headers.get("host") ?? "").split(".");
    const named = rest.join(".") === "localhost" ? workers.find(({ project }) => project.name === label) : undefined;
    const worker = named ?? workers[0];
    if (worker === undefined) return null;
    const answer = worker.hostname === null ? null : answerAs(worker.hostname);
    return answer ?? this.#explain(worker);
  }

  #explain(worker: DevWorker): Response {
    const failure = this.#failures.get(worker);
    const { name } = worker.project;
    if (failure !== undefined) {
      const frame = failure.frame === undefined ? "" : `\n\n${Bun.stripANSI(failure.frame)}`;
      return plain(500, `${name} is not deployed: ${failure.message}${frame}`);
    }
    if (worker.deployed === null) return plain(503, `${name} is starting.`);
    return plain(404, `${name} has no fetch handler.`);
  }
}

function sourceOf(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return null;
  }
}

function plain(status: number, text: string): Response {
  return new Response(`${text}\n`, {
    status,
    headers: { "content-type": "text/plain;charset=utf-8", "cache-control": "no-store" },
  });
}
