// The host's end of the protocol with one cell: exchanges under way, in both directions, independent of what carries
// the frames.
import { BodyIntake } from "./body-intake.ts";
import type { BodyPump } from "./body-pump.ts";
import {
  type CellOwner,
  type CellResponse,
  CellStopped,
  HandlerFailed,
  type RequestBody,
  type RequestHead,
  type Running,
  type StopReason,
} from "./cell.ts";
import type { Outbox } from "./outbox.ts";
import { OutboundCalls } from "./outbound-calls.ts";
import { Body, type Message, Op } from "./protocol.ts";
import { Exchange } from "./exchange.ts";
import { pushWithBody } from "./push-with-body.ts";

export class Exchanges {
  readonly #outbox: Outbox;
  readonly #exchanges = new Map<number, Exchange>();
  readonly #calls: OutboundCalls;
  #lastId = 0;
  #stopped: StopReason | null = null;
  #drained: PromiseWithResolvers<void> | null = null;

  constructor(outbox: Outbox, owner: CellOwner) {
    this.#outbox = outbox;
    this.#calls = new OutboundCalls(outbox, owner);
  }

  /** Invocations that have not ended. */
  get running(): number {
    return this.#exchanges.size;
  }

  has(id: number): boolean {
    return this.#exchanges.has(id);
  }

  ids(): Iterable<number> {
    return this.#exchanges.keys();
  }

  fetch(head: RequestHead, body: RequestBody): Running<CellResponse> {
    const exchange = this.#open();
    if (this.#stopped !== null) return exchange;
    const { id } = exchange;
    const text = `[${Op.fetch},${id},${JSON.stringify(head.method)},${JSON.stringify(head.url)},${JSON.stringify(head.headers)}`;
    exchange.pump = pushWithBody(this.#outbox, text, id, body, "", nothing);
    return exchange;
  }

  event(handler: string, json: string): Running<unknown> {
    const exchange = this.#open();
    if (this.#stopped !== null) return exchange;
    this.#outbox.push(`[${Op.event},${exchange.id},"${handler}",${JSON.stringify(json)}]`);
    return exchange;
  }

  #open(): Exchange {
    const exchange = new Exchange(++this.#lastId, this.#abort);
    if (this.#stopped === null) {
      this.#exchanges.set(exchange.id, exchange);
    } else {
      exchange.fail(new CellStopped(this.#stopped));
      exchange.end();
    }
    return exchange;
  }

  abortAll(): void {
    for (const id of this.#exchanges.keys()) this.#abort(id);
  }

  /** Resolves when no invocation is open. */
  drained(): Promise<void> {
    if (this.#exchanges.size === 0) return Promise.resolve();
    this.#drained ??= Promise.withResolvers<void>();
    return this.#drained.promise;
  }

  readonly #abort = (id: number): void => {
    const exchange = this.#exchanges.get(id);
    if (exchange === undefined) return;
    exchange.pump?.stop();
    this.#outbox.push(`[${Op.abort},${id},""]`);
  };

  /** A message of the cell that concerns an exchange or a call. The cell is hostile: unknown ids are ignored. */
  handle(message: Message, blocks: readonly Uint8Array[]): void {
    const id = Number(message[1]);
    switch (message[0]) {
      case Op.head:
        this.#onHead(id, message);
        break;
      case Op.fail:
        this.#onFail(id);
        break;
      case Op.done:
        this.#onDone(id);
        break;
      case Op.chunk: {
        const intake = this.#intakeOf(id);
        const [, , inline, block] = message as unknown as [number, number, string | null, number];
        intake?.chunk(inline === null ? (blocks[block] ?? new Uint8Array()) : Buffer.from(inline, "latin1"));
        break;
      }
      case Op.end:
        this.#intakeOf(id)?.end();
        break;
      case Op.error:
        this.#intakeOf(id)?.break(new Error("the body broke off"));
        break;
      case Op.credit:
        this.#pumpOf(id)?.credit(Math.max(0, Number(message[2])));
        break;
      case Op.cancel:
        this.#pumpOf(id)?.stop();
        break;
      case Op.abort:
        this.#calls.abort(id);
        break;
      case Op.call:
        void this.#calls.open(id, message, (invocation) => this.#exchanges.has(invocation));
        break;
    }
  }

  #intakeOf(id: number): BodyIntake | null {
    return (id > 0 ? this.#exchanges.get(id)?.intake : this.#calls.intakeOf(id)) ?? null;
  }

  #pumpOf(id: number): BodyPump | null {
    return (id > 0 ? this.#exchanges.get(id)?.pump : this.#calls.pumpOf(id)) ?? null;
  }

  #onHead(id: number, message: Message): void {
    const exchange = this.#exchanges.get(id);
    if (exchange === undefined || exchange.answered) return;
    const [, , status, statusText, headers, kind, inline, bodyBytes, done] = message as unknown as [
      number,
      number,
      number,
      string,
      string,
      number,
      string | undefined,
      number | undefined,
      boolean | undefined,
    ];
    let body: CellResponse["body"] = null;
    if (kind === Body.inline) body = Buffer.from(inline ?? "", "latin1");
    else if (kind === Body.stream) {
      exchange.intake = new BodyIntake(this.#outbox, id, () => this.#abort(id));
      body = exchange.intake.stream;
    }
    exchange.answer({ status, statusText, headers, body, bodyBytes: bodyBytes ?? null });
    if (done === true) this.#onDone(id);
  }

  #onFail(id: number): void {
    const exchange = this.#exchanges.get(id);
    if (exchange === undefined) return;
    exchange.fail(new HandlerFailed());
    exchange.pump?.stop();
  }

  #onDone(id: number): void {
    const exchange = this.#exchanges.get(id);
    if (exchange === undefined) return;
    this.#exchanges.delete(id);
    if (!exchange.answered) exchange.fail(new HandlerFailed());
    exchange.pump?.stop();
    // A cancelled invocation ends without a word about its body, and whoever reads it must not wait for ever.
    exchange.intake?.break(new Error("the body broke off"));
    this.#calls.endOf(id);
    exchange.end();
    this.#noteDrained();
  }

  #noteDrained(): void {
    if (this.#exchanges.size > 0) return;
    this.#drained?.resolve();
    this.#drained = null;
  }

  /** The cell is gone or going: everything open fails (C1). */
  stop(reason: StopReason): void {
    if (this.#stopped !== null) return;
    this.#stopped = reason;
    const error = new CellStopped(reason);
    for (const exchange of this.#exchanges.values()) {
      if (!exchange.answered) exchange.fail(error);
      exchange.intake?.break(error);
      exchange.pump?.stop();
    }
    this.#calls.stop(error);
  }

  /** No code of the cell can run any more: every invocation has ended (C2). */
  end(): void {
    for (const exchange of this.#exchanges.values()) exchange.end();
    this.#exchanges.clear();
    this.#noteDrained();
  }
}

function nothing(): void {}
