import type { BodyIntake } from "./body-intake.ts";
import type { BodyPump } from "./body-pump.ts";
import type { CellResponse, Running } from "./cell.ts";

/**
 * One invocation as the host sees it. Its result settles once, with the response head or with why there is none; it ends
 * once. One object and one promise an event, because every request pays for it.
 */
export class Exchange implements Running<CellResponse> {
  readonly id: number;
  readonly result: Promise<CellResponse>;
  pump: BodyPump | null = null;
  intake: BodyIntake | null = null;
  /** The result has settled. */
  answered = false;
  #resolve!: (response: CellResponse) => void;
  #reject!: (error: Error) => void;
  readonly #onAbort: (id: number) => void;
  #ended: PromiseWithResolvers<void> | null = null;
  #over = false;

  constructor(id: number, onAbort: (id: number) => void) {
    this.id = id;
    this.#onAbort = onAbort;
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Made when somebody asks for it: most requests are over with their result. */
  get ended(): Promise<void> {
    if (this.#ended === null) {
      this.#ended = Promise.withResolvers<void>();
      if (this.#over) this.#ended.resolve();
    }
    return this.#ended.promise;
  }

  abort(): void {
    if (!this.#over) this.#onAbort(this.id);
  }

  /** The response head is there. Only the first settlement counts. */
  answer(response: CellResponse): void {
    this.answered = true;
    this.#resolve(response);
  }

  fail(reason: Error): void {
    this.answered = true;
    // Whoever runs the event looks at the result; nobody may be looking any more.
    this.result.catch(() => {});
    this.#reject(reason);
  }

  end(): void {
    this.#over = true;
    this.#ended?.resolve();
  }
}
