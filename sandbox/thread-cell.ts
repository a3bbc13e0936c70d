// A cell that is a worker thread.
import type { Clock } from "../base/clock.ts";
import { invariant } from "../base/invariant.ts";
import type {
  Cell,
  CellOwner,
  CellPhase,
  CellResponse,
  LogLine,
  RequestBody,
  RequestHead,
  Running,
  StopReason,
} from "./cell.ts";
import { CellStopped } from "./cell.ts";
import { Exchanges } from "./exchanges.ts";
import { Outbox } from "./outbox.ts";
import { type LoadResult, type LoadSpec, type Message, Op } from "./protocol.ts";
import { NO_INVOCATION } from "./watchdogs/active-time.ts";
import { type CellLimits, CellWatchdog } from "./watchdogs/cell-watchdog.ts";
import { pageFaults, threadCpuMs } from "./watchdogs/thread-cpu.ts";

/** Set by the build of the binary, which holds the cell's entry compiled and under another name. */
declare const ATOLL_THREAD_MAIN: string | undefined;
const THREAD_MAIN =
  typeof ATOLL_THREAD_MAIN === "string" ? ATOLL_THREAD_MAIN : new URL("./thread-main.ts", import.meta.url).href;

export interface ThreadCellOptions {
  readonly clock: Clock;
  readonly limits: CellLimits;
  readonly owner: CellOwner;
  /**
   * The thread did not close within this time after it was told to: it is inside native code that cannot be
   * interrupted, and only the end of the process can stop it.
   */
  readonly closeGraceMs: number;
  onStuck(): void;
}

/** Legal changes of a cell's phase; anything else is a bug of ours. */
export function nextPhase(now: CellPhase, to: CellPhase): CellPhase {
  const legal =
    (now.phase === "starting" && to.phase !== "starting") ||
    (now.phase === "live" && (to.phase === "stopping" || to.phase === "closed")) ||
    (now.phase === "stopping" && to.phase === "closed");
  invariant(legal, `cell: ${to.phase} while ${now.phase}`);
  return to;
}

export class ThreadCell implements Cell {
  readonly loaded: Promise<LoadResult>;
  readonly closed: Promise<StopReason>;
  readonly #options: ThreadCellOptions;
  readonly #worker: Worker;
  readonly #outbox: Outbox;
  readonly #exchanges: Exchanges;
  readonly #watchdog: CellWatchdog;
  readonly #loaded = Promise.withResolvers<LoadResult>();
  readonly #closed = Promise.withResolvers<StopReason>();
  #phase: CellPhase = { phase: "starting" };
  #thread: string | null = null;

  constructor(spec: LoadSpec, blocks: readonly Uint8Array[], options: ThreadCellOptions) {
    this.#options = options;
    this.loaded = this.#loaded.promise;
    this.closed = this.#closed.promise;
    this.loaded.catch(() => {});
    // An empty environment: whatever leaked from a realm would find nothing of the host's here.
    this.#worker = new Worker(THREAD_MAIN, { env: {} });
    this.#worker.onmessage = (event: MessageEvent<unknown>) => this.#receive(event.data);
    this.#worker.onerror = (event) => event.preventDefault();
    this.#worker.addEventListener("close", () => this.#onClosed());
    this.#outbox = new Outbox({
      send: ({ text, blocks: parts }) => {
        if (this.#phase.phase === "closed") return;
        if (parts.length === 0) this.#worker.postMessage(text);
        else this.#worker.postMessage([text, ...parts], parts.map(({ buffer }) => buffer) as ArrayBuffer[]);
      },
    });
    this.#exchanges = new Exchanges(this.#outbox, options.owner);
    this.#watchdog = new CellWatchdog(options.clock, options.limits, {
      cpuMs: () => (this.#thread === null ? null : threadCpuMs(this.#thread)),
      memory: () => ({
        residentBytes: process.memoryUsage.rss(),
        processFaults: pageFaults() ?? 0,
        cellFaults: (this.#thread === null ? null : pageFaults(this.#thread)) ?? 0,
      }),
      ping: (n, collect) => {
        this.#outbox.push(`[${Op.ping},${n},${collect}]`);
        this.#outbox.flush();
      },
      open: () => (this.#phase.phase === "starting" ? new Set([NO_INVOCATION]) : new Set(this.#exchanges.ids())),
      condemn: (reason) => void this.stop(reason),
    });
    const indices = blocks.map((block) => this.#outbox.block(block));
    invariant(
      indices.every((index, position) => index === position),
      "blocks of a load frame are numbered from 0",
    );
    this.#outbox.push(`[${Op.load},${JSON.stringify(spec)}]`);
    this.#watchdog.wake();
  }

  get phase(): CellPhase {
    return this.#phase;
  }

  get running(): number {
    return this.#exchanges.running;
  }

  /** True while the thread has not answered for `ms`: new work should go elsewhere. */
  blockedFor(ms: number): boolean {
    return this.#watchdog.blockedFor(ms);
  }

  fetch(head: RequestHead, body: RequestBody): Running<CellResponse> {
    this.#watchdog.wake();
    return this.#exchanges.fetch(head, body);
  }

  abortAll(): void {
    this.#exchanges.abortAll();
  }

  drained(): Promise<void> {
    return this.#exchanges.drained();
  }

  event(handler: string, json: string): Running<unknown> {
    this.#watchdog.wake();
    return this.#exchanges.event(handler, json);
  }

  async stop(reason: StopReason): Promise<void> {
    if (this.#phase.phase === "starting" || this.#phase.phase === "live") {
      this.#phase = nextPhase(this.#phase, { phase: "stopping", reason });
      this.#watchdog.stop();
      this.#exchanges.stop(reason);
      this.#loaded.reject(new CellStopped(reason));
      const cancel = this.#options.clock.after(this.#options.closeGraceMs, () => this.#options.onStuck());
      void this.#closed.promise.then(cancel);
      this.#worker.terminate();
    }
    await this.#closed.promise;
  }

  #onClosed(): void {
    if (this.#phase.phase === "closed") return;
    const reason = this.#phase.phase === "stopping" ? this.#phase.reason : "crashed";
    this.#phase = nextPhase(this.#phase, { phase: "closed", reason });
    this.#watchdog.stop();
    this.#exchanges.stop(reason);
    this.#exchanges.end();
    this.#loaded.reject(new CellStopped(reason));
    this.#closed.resolve(reason);
  }

  #receive(data: unknown): void {
    if (this.#phase.phase !== "starting" && this.#phase.phase !== "live") return;
    try {
      if (typeof data === "string") this.#handleAll(data, []);
      else if (Array.isArray(data)) this.#handleAll(data[0] as string, data.slice(1) as Uint8Array[]);
      else this.#thread = (data as { ready: string }).ready;
    } catch {
      // Nothing of ours speaks like that, so the wall is broken: end it.
      void this.stop("crashed");
    }
  }

  #handleAll(text: string, blocks: readonly Uint8Array[]): void {
    for (const message of JSON.parse(text) as Message[]) {
      switch (message[0]) {
        case Op.loaded:
          if (this.#phase.phase === "starting") this.#phase = nextPhase(this.#phase, { phase: "live" });
          this.#loaded.resolve(message[1] as unknown as LoadResult);
          break;
        case Op.log: {
          const [, invocation, level, line, source] = message as unknown as [
            number,
            number,
            LogLine["level"],
            string,
            number,
          ];
          this.#options.owner.log({ invocation, level, message: line, kind: source === 1 ? "error" : "console" });
          break;
        }
        case Op.pong: {
          const [, , heapBytes, attributed] = message as unknown as [number, number, number, [number, number][]];
          this.#watchdog.pong(heapBytes, attributed);
          break;
        }
        default:
          this.#exchanges.handle(message, blocks);
      }
    }
  }
}
