// Calls that tenant code of one cell makes to the outside: the exchanges that the cell opens (negative ids).
//
//   O1. A call belongs to an invocation and ends with it: what an invocation leaves unread holds no connection.
import { AtollError } from "../base/errors.ts";
import { BodyIntake } from "./body-intake.ts";
import type { BodyPump } from "./body-pump.ts";
import type { CellOwner, OutboundAnswer, RequestBody } from "./cell.ts";
import type { Outbox } from "./outbox.ts";
import { Body, type Message, Op } from "./protocol.ts";
import { pushWithBody } from "./push-with-body.ts";

interface Call {
  readonly invocation: number;
  readonly abort: AbortController;
  answered: boolean;
  /** Body that the cell sends with its call. */
  intake: BodyIntake | null;
  /** Body of our answer. */
  pump: BodyPump | null;
}

export class OutboundCalls {
  readonly #outbox: Outbox;
  readonly #owner: CellOwner;
  readonly #calls = new Map<number, Call>();

  constructor(outbox: Outbox, owner: CellOwner) {
    this.#outbox = outbox;
    this.#owner = owner;
  }

  intakeOf(id: number): BodyIntake | null {
    return this.#calls.get(id)?.intake ?? null;
  }

  pumpOf(id: number): BodyPump | null {
    return this.#calls.get(id)?.pump ?? null;
  }

  /** Tenant code gave the call up. */
  abort(id: number): void {
    this.#calls.get(id)?.abort.abort();
    this.#end(id);
  }

  /** The cell opened a call (Op.call); `running` tells whether its invocation still is. */
  async open(id: number, message: Message, running: (invocation: number) => boolean): Promise<void> {
    const [, , invocation, kind, target, method, url, headers, bodyKind, inline, redirect] = message as unknown as [
      number,
      number,
      number,
      "egress" | "service",
      string,
      string,
      string,
      string,
      number,
      string,
      "follow" | "manual" | "error",
    ];
    if (!(id < 0) || this.#calls.has(id)) return;
    const call: Call = { invocation, abort: new AbortController(), answered: false, intake: null, pump: null };
    this.#calls.set(id, call);
    let body: RequestBody = null;
    if (bodyKind === Body.inline) body = Buffer.from(inline, "latin1");
    else if (bodyKind === Body.stream) {
      call.intake = new BodyIntake(this.#outbox, id, () => {});
      body = call.intake.stream;
    }
    if (!running(invocation)) {
      this.#fail(id, "backend_unavailable", "calls are possible only while an event is handled");
      return;
    }
    try {
      const { signal } = call.abort;
      const request = { invocation, kind, target, method, url, headers, body, redirect, signal };
      this.#answer(id, call, await this.#owner.call(request));
    } catch (error) {
      const known = error instanceof AtollError;
      this.#fail(
        id,
        known ? error.code : "backend_unavailable",
        known ? error.message : "the call could not be completed",
      );
    }
  }

  #answer(id: number, call: Call, answer: OutboundAnswer): void {
    if (this.#calls.get(id) !== call) {
      if (answer.body instanceof ReadableStream) answer.body.cancel().catch(() => {});
      return;
    }
    call.answered = true;
    const text = `[${Op.head},${id},${answer.status},${JSON.stringify(answer.statusText)},${JSON.stringify(answer.headers)}`;
    const rest = `,${JSON.stringify(answer.url)},${answer.redirected}`;
    call.pump = pushWithBody(this.#outbox, text, id, answer.body, rest, () => this.#end(id));
    if (call.pump === null) this.#end(id);
  }

  #fail(id: number, code: string, message: string): void {
    if (this.#calls.has(id)) this.#outbox.push(`[${Op.fail},${id},"${code}",${JSON.stringify(message)}]`);
    this.#end(id);
  }

  #end(id: number): void {
    const call = this.#calls.get(id);
    if (call === undefined) return;
    this.#calls.delete(id);
    call.pump?.stop();
    if (call.intake === null || call.intake.over) return;
    call.intake.break(new Error("the call has ended"));
    this.#outbox.push(`[${Op.cancel},${id}]`);
  }

  /** O1. */
  endOf(invocation: number): void {
    if (this.#calls.size === 0) return;
    for (const [id, call] of this.#calls) {
      if (call.invocation !== invocation) continue;
      call.abort.abort();
      if (call.answered) this.#outbox.push(`[${Op.error},${id},"the invocation has ended"]`);
      else this.#fail(id, "backend_unavailable", "the invocation has ended");
      this.#end(id);
    }
  }

  /** The cell is gone or going. */
  stop(error: Error): void {
    for (const call of this.#calls.values()) {
      call.abort.abort();
      call.intake?.break(error);
      call.pump?.stop();
    }
    this.#calls.clear();
  }
}
