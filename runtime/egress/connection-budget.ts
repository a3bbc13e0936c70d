import { AtollError } from "../../base/errors.ts";

/** Bounds the connections that are open at one time, together and for each party, so that none starves the others. */
export class ConnectionBudget {
  readonly #totalMax: number;
  readonly #partyMax: number;
  readonly #open = new Map<string, number>();
  #total = 0;

  constructor(limits: { readonly totalMax: number; readonly partyMax: number }) {
    this.#totalMax = limits.totalMax;
    this.#partyMax = limits.partyMax;
  }

  /**
   * Take one connection for `party` (undefined: the host's own, which counts in the total only). The function gives it
   * back; calling it again does nothing. Throws `backend_unavailable` when none is left.
   */
  take(party: string | undefined): () => void {
    const open = party === undefined ? 0 : (this.#open.get(party) ?? 0);
    if (this.#total >= this.#totalMax || open >= this.#partyMax) {
      throw new AtollError("backend_unavailable", "Too many outbound connections are open.", {
        hint: "Read response bodies to their end or cancel them, and start fewer requests at a time.",
      });
    }
    this.#total += 1;
    if (party !== undefined) this.#open.set(party, open + 1);
    let taken = true;
    return () => {
      if (!taken) return;
      taken = false;
      this.#total -= 1;
      if (party !== undefined) this.#giveBack(party);
    };
  }

  #giveBack(party: string): void {
    const left = (this.#open.get(party) ?? 0) - 1;
    if (left > 0) this.#open.set(party, left);
    else this.#open.delete(party);
  }
}
