// The host's side of a cell, whatever carries it. A carrier moves frames and can end its cell; all else is here.
import type { Channel, Frame } from "../base/channel.ts";
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
import { type CellLimits, CellWatchdog, type MemoryUse } from "./watchdogs/cell-watchdog.ts";

export interface CellOptions {
  readonly clock: Clock;
  readonly limits: CellLimits;
  readonly owner: CellOwner;
  /**
   * The cell did not close within this time after it was told to: it is inside native code that cannot be interrupted,
   * and only the end of the process can stop it.
   */
  readonly closeGraceMs: number;
  onStuck(): void;
}

/** What carries a cell: a thread or a process. */
export interface Carrier extends Channel {
  /** End the cell at once, whatever it does. The proof of its end is `closed`. */
  kill(): void;
  /** CPU time that the cell has used, in milliseconds; null while unknown. */
  cpuMs(): number | null;
  memory(): MemoryUse;
}

/** What a carrier tells. Nothing after `closed`. */
export interface CarrierEvents {
  frame(frame: Frame): void;
  /** The cell sent something that is no frame. */
  broken(): void;
  /** No code of the cell can run any more (C2). */
  closed(): void;
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

export class HostedCell implements Cell {
  readonly loaded: Promise<LoadResult>;
  readonly closed: Promise<StopReason>;
  readonly #options: CellOptions;
  readonly #carrier: Carrier;
  readonly #outbox: Outbox;
  readonly #exchanges: Exchanges;
  readonly #watchdog: CellWatchdog;
  readonly #loaded = Promise.withResolvers<LoadResult>();
  readonly #closed = Promise.withResolvers<StopReason>();
  #phase: CellPhase = { phase: "starting" };

  constructor(
    spec: LoadSpec,
    blocks: readonly Uint8Array[],
    options: CellOptions,
    carry: (events: CarrierEvents) => Carrier,
  ) {
    this.#options = options;
    this.loaded = this.#loaded.promise;
    this.closed = this.#closed.promise;
    this.loaded.catch(() => {});
    this.#carrier = carry({
      frame: (frame) => this.#receive(frame),
      // Nothing of ours speaks like that, so the wall is broken: end it.
      broken: () => void this.stop("crashed"),
      closed: () => this.#onClosed(),
    });
    this.#outbox = new Outbox({
      send: (frame) => {
        if (this.#phase.phase !== "closed") this.#carrier.send(frame);
      },
    });
    this.#exchanges = new Exchanges(this.#outbox, options.owner);
    this.#watchdog = new CellWatchdog(options.clock, options.limits, {
      cpuMs: () => this.#carrier.cpuMs(),
      memory: () => this.#carrier.memory(),
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

  /** True while the cell has not answered for `ms`: new work should go elsewhere. */
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
      this.#carrier.kill();
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

  #receive({ text, blocks }: Frame): void {
    if (this.#phase.phase !== "starting" && this.#phase.phase !== "live") return;
    try {
      for (const message of JSON.parse(text) as Message[]) this.#handle(message, blocks);
    } catch {
      void this.stop("crashed");
    }
  }

  #handle(message: Message, blocks: readonly Uint8Array[]): void {
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
