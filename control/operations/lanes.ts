// Lanes: work on one Resource never overlaps, and only so much runs at once.
//
//   N1. Jobs with the same key run one after the other, in the order in which they came.
//   N2. At most `concurrencyMax` jobs run at once; keys take turns.
//   N3. A job that rejects ends only itself.

type Job = () => Promise<void>;

export class Lanes {
  readonly #concurrencyMax: number;
  readonly #failed: (error: unknown) => void;
  readonly #waiting = new Map<string, Job[]>();
  readonly #running = new Set<string>();
  /** Keys with waiting jobs and no running one, in the order of their turns. */
  readonly #ready: string[] = [];
  #closed = false;
  #idle: PromiseWithResolvers<void> | null = null;

  constructor(options: { readonly concurrencyMax: number; readonly failed: (error: unknown) => void }) {
    this.#concurrencyMax = options.concurrencyMax;
    this.#failed = options.failed;
  }

  /** Run `job` when the earlier ones with this key have ended. After `close` it is dropped. */
  add(key: string, job: Job): void {
    if (this.#closed) return;
    const lane = this.#waiting.get(key);
    if (lane !== undefined) {
      lane.push(job);
      return;
    }
    this.#waiting.set(key, [job]);
    if (!this.#running.has(key)) this.#ready.push(key);
    this.#pump();
  }

  /** Whether a job with this key runs at this moment. */
  runs(key: string): boolean {
    return this.#running.has(key);
  }

  /** Whether any job runs or waits for its turn. */
  get busy(): boolean {
    return this.#running.size > 0 || this.#waiting.size > 0;
  }

  /** Drop what has not started, take nothing more, and resolve when what runs has ended. */
  close(): Promise<void> {
    this.#closed = true;
    this.#waiting.clear();
    this.#ready.length = 0;
    if (this.#running.size === 0) return Promise.resolve();
    this.#idle ??= Promise.withResolvers<void>();
    return this.#idle.promise;
  }

  #pump(): void {
    while (this.#running.size < this.#concurrencyMax) {
      const key = this.#ready.shift();
      if (key === undefined) return;
      const job = this.#take(key);
      if (job !== null) this.#run(key, job);
    }
  }

  #take(key: string): Job | null {
    const lane = this.#waiting.get(key);
    const job = lane?.shift() ?? null;
    if (lane?.length === 0) this.#waiting.delete(key);
    return job;
  }

  #run(key: string, job: Job): void {
    this.#running.add(key);
    // A job starts in a turn of its own: whoever added it has answered first.
    Promise.resolve()
      .then(job)
      .catch(this.#failed)
      .finally(() => this.#ended(key));
  }

  #ended(key: string): void {
    this.#running.delete(key);
    if (this.#waiting.has(key)) this.#ready.push(key);
    this.#pump();
    if (this.#running.size === 0) this.#idle?.resolve();
  }
}
