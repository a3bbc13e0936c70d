// When to build: one build at a time, and a change that comes meanwhile is never lost.

/** `stale`: a change came while a build was running, so another has to follow. */
export type CycleState = "idle" | "building" | "stale" | "closed";
export type CycleEvent = "change" | "done" | "close";

const NEXT: Readonly<Record<CycleState, Partial<Record<CycleEvent, CycleState>>>> = {
  idle: { change: "building", close: "closed" },
  building: { change: "stale", done: "idle", close: "closed" },
  stale: { change: "stale", done: "building", close: "closed" },
  // What was under way when it closed may still report.
  closed: { change: "closed", done: "closed", close: "closed" },
};

/** Throws when the event is impossible in this state. */
export function nextCycle(state: CycleState, event: CycleEvent): CycleState {
  const next = NEXT[state][event];
  if (next === undefined) throw new Error(`a build cycle that is ${state} cannot be told: ${event}`);
  return next;
}

export class BuildCycle {
  #state: CycleState = "idle";
  readonly #build: () => Promise<void>;
  #running: Promise<void> = Promise.resolve();

  /** @param build must not reject */
  constructor(build: () => Promise<void>) {
    this.#build = build;
  }

  get state(): CycleState {
    return this.#state;
  }

  change(): void {
    const before = this.#state;
    this.#state = nextCycle(before, "change");
    if (before === "idle") this.#running = this.#run();
  }

  /** Resolves when no build is under way and none has to follow. */
  async rest(): Promise<void> {
    await this.#running;
  }

  close(): void {
    this.#state = nextCycle(this.#state, "close");
  }

  async #run(): Promise<void> {
    while (this.#state === "building") {
      await this.#build();
      this.#state = nextCycle(this.#state, "done");
    }
  }
}
