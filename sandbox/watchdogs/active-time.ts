// Who used how much active CPU. Pure bookkeeping; the watchdog feeds it and acts on what it says.
//
// Two sources agree to convict. The cell says how its time was divided among invocations, which is precise but can be
// inflated by a busy machine; the kernel says how much CPU the thread really used. An invocation is over its limit when
// both do not contradict: its attributed time is over, and so is the thread's real time since the invocation began.
//
// Some CPU time is nobody's: what engine callbacks set in motion, or timers that outlived loading. All
// open invocations answer for it in equal parts, and the cell itself while none is open. A little of it is forgiven all
// the time, so that one which only waits is not found guilty of its neighbours' work.

export interface ActiveTimeLimits {
  readonly cpuMs: number;
}

/** Work outside any invocation has this id: loading at first, later whatever goes on without an event. */
export const NO_INVOCATION = 0;

/** Part of the passing time by which the account of unattributed CPU shrinks. */
const FORGIVEN = 0.1;

interface Account {
  readonly cpuAtStartMs: number;
  attributedMs: number;
  sharedMs: number;
}

/** What the watchdog sees at one moment. */
export interface Look {
  /** CPU time of the cell's thread so far. */
  readonly cpuMs: number;
  /** Milliseconds since the last look. */
  readonly elapsedMs: number;
  /** Invocations that have not ended. */
  readonly open: ReadonlySet<number>;
  /** Active milliseconds by invocation since the last look, as the cell divided them. */
  readonly attributed: readonly (readonly [number, number])[];
}

export class ActiveTime {
  readonly #limits: ActiveTimeLimits;
  readonly #accounts = new Map<number, Account>();
  #lastCpuMs = 0;

  constructor(limits: ActiveTimeLimits) {
    this.#limits = limits;
  }

  /** Take note; true when somebody is over the limit. */
  look({ cpuMs, elapsedMs, open, attributed }: Look): boolean {
    this.#openAccounts(open.size === 0 ? new Set([NO_INVOCATION]) : open);
    let strayMs = Math.max(0, cpuMs - this.#lastCpuMs);
    for (const [id, ms] of attributed) {
      const account = open.has(id) ? this.#accounts.get(id) : undefined;
      if (account !== undefined) account.attributedMs += ms;
      // An invocation that has ended since takes its time with it.
      if (account !== undefined || id !== NO_INVOCATION) strayMs -= ms;
    }
    const shareMs = Math.max(0, strayMs) / this.#accounts.size - elapsedMs * FORGIVEN;
    for (const account of this.#accounts.values()) account.sharedMs = Math.max(0, account.sharedMs + shareMs);
    this.#lastCpuMs = cpuMs;
    return [...this.#accounts.values()].some(
      ({ attributedMs, sharedMs, cpuAtStartMs }) =>
        attributedMs + sharedMs >= this.#limits.cpuMs && cpuMs - cpuAtStartMs >= this.#limits.cpuMs,
    );
  }

  #openAccounts(open: ReadonlySet<number>): void {
    for (const id of this.#accounts.keys()) if (!open.has(id)) this.#accounts.delete(id);
    for (const id of open) {
      if (this.#accounts.has(id)) continue;
      this.#accounts.set(id, { cpuAtStartMs: this.#lastCpuMs, attributedMs: 0, sharedMs: 0 });
    }
  }
}
