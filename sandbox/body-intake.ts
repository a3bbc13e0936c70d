import type { Outbox } from "./outbox.ts";
import { Op } from "./protocol.ts";

/**
 * Receives one body from a cell as a stream. Credit goes back when the consumer asks for more, so at most one window
 * waits here however slow the consumer is (P1).
 */
export class BodyIntake {
  readonly stream: ReadableStream<Uint8Array>;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  #unacknowledgedBytes = 0;
  #over = false;

  constructor(outbox: Outbox, id: number, onCancel: () => void) {
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => {
          if (this.#unacknowledgedBytes === 0 || this.#over) return;
          outbox.push(`[${Op.credit},${id},${this.#unacknowledgedBytes}]`);
          this.#unacknowledgedBytes = 0;
        },
        cancel: () => {
          if (this.#over) return;
          this.#over = true;
          outbox.push(`[${Op.cancel},${id}]`);
          onCancel();
        },
      },
      { highWaterMark: 0 },
    );
  }

  /** Nothing more will come: it ended, broke off, or its consumer went away. */
  get over(): boolean {
    return this.#over;
  }

  chunk(bytes: Uint8Array): void {
    if (this.#over) return;
    this.#unacknowledgedBytes += bytes.byteLength;
    this.#controller.enqueue(bytes);
  }

  end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#controller.close();
  }

  break(error: Error): void {
    if (this.#over) return;
    this.#over = true;
    this.#controller.error(error);
  }
}
