// How far one event may go on through service bindings: so deep, and so many calls in all. Without the second bound a
// loop that branches would multiply one request into more work than any node has.
import { AtollError } from "../../base/errors.ts";

const DEPTH_MAX = 16;
const CALLS_MAX = 1_000;

/** Where an event stands that a service call started. */
export interface ServiceChain {
  readonly depth: number;
  /** Shared by everything that one event from outside has led to. */
  readonly budget: { callsLeft: number };
}

/** The chains of the invocations of one cell; an invocation without one came from outside. */
export class ServiceChains {
  readonly #chains = new WeakMap<object, Map<number, ServiceChain>>();

  /** The invocation `running` of `cell` belongs to `chain`, or begins one of its own, until it has ended. */
  begin(
    cell: object,
    running: { readonly id: number; readonly ended: Promise<void> },
    chain: ServiceChain | null,
  ): void {
    const chains = this.#chains.get(cell) ?? new Map<number, ServiceChain>();
    this.#chains.set(cell, chains);
    chains.set(running.id, chain ?? { depth: 0, budget: { callsLeft: CALLS_MAX } });
    void running.ended.then(() => chains.delete(running.id));
  }

  /** Take one call. Throws AtollError `backend_unavailable` when the chain is too long or has made too many calls. */
  next(cell: object, invocation: number): ServiceChain {
    const chain = this.#chains.get(cell)?.get(invocation);
    if (chain === undefined) throw new AtollError("backend_unavailable", "the event that makes this call has ended");
    const { depth, budget } = chain;
    if (depth >= DEPTH_MAX) {
      throw new AtollError("backend_unavailable", `service bindings call each other more than ${DEPTH_MAX} deep`);
    }
    if (budget.callsLeft === 0) {
      throw new AtollError(
        "backend_unavailable",
        `one event leads to more than ${CALLS_MAX} calls of service bindings`,
      );
    }
    budget.callsLeft -= 1;
    return { depth: depth + 1, budget };
  }
}
