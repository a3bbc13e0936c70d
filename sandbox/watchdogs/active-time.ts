// Who used how much active CPU. Pure bookkeeping; the watchdog feeds it and acts on what it says.
//
// Two sources agree to convict. The cell says how its time was divided among invocations, which is precise but can be
// inflated by a busy machine; the kernel says how much CPU the thread really used. An invocation is over its limit when
// both do not contradict: its attributed time is over, and so is the thread's real time since the invocation began.

export interface ActiveTimeLimits {
  readonly cpuMs: number;
}

interface Account {
  readonly cpuAtStartMs: number;
  attributedMs: number;
}

export class ActiveTime {
  readonly #limits: ActiveTimeLimits;
  readonly #accounts = new Map<number, Account>();
  #lastCpuMs = 0;

  constructor(limits: ActiveTimeLimits) {
    this.#limits = limits;
  }

  /**
   * A look at the cell.
   * @param cpuMs CPU time of the cell's thread so far.
   * @param open invocations that have not ended.
   * @param attributed active milliseconds by invocation since the last look, as the cell divided them.
   * @returns true when an invocation is over the limit.
   */
  look(cpuMs: number, open: ReadonlySet<number>, attributed: readonly (readonly [number, number])[]): boolean {
    for (const id of this.#accounts.keys()) if (!open.has(id)) this.#accounts.delete(id);
    for (const id of open) {
      if (!this.#accounts.has(id)) this.#accounts.set(id, { cpuAtStartMs: this.#lastCpuMs, attributedMs: 0 });
    }
    for (const [id, ms] of attributed) {
      const account = this.#accounts.get(id);
      if (account !== undefined) account.attributedMs += ms;
    }
    // Timers and late continuations are attributed to nobody; alone in its cell, an invocation answers for all of it.
    const only = open.size === 1 ? [...this.#accounts.values()][0] : undefined;
    if (only !== undefined) only.attributedMs = Math.max(only.attributedMs, cpuMs - only.cpuAtStartMs);
    this.#lastCpuMs = cpuMs;
    return [...this.#accounts.values()].some(
      ({ attributedMs, cpuAtStartMs }) =>
        attributedMs >= this.#limits.cpuMs && cpuMs - cpuAtStartMs >= this.#limits.cpuMs,
    );
  }
}
