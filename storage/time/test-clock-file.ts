// The time of a node that runs on a test clock: it never goes back, whatever ends the process.
import { diskFaults } from "../disk/disk-fault.ts";
import { readIfExists, writeDurable } from "../disk/durable-file.ts";

export class TestClockFile {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** Unix milliseconds; null when there is no file, or one without a time in it. */
  async load(): Promise<number | null> {
    const bytes = await diskFaults(() => readIfExists(this.#path));
    if (bytes === null) return null;
    try {
      const { nowMs } = JSON.parse(new TextDecoder().decode(bytes)) as { readonly nowMs?: unknown };
      return Number.isSafeInteger(nowMs) ? (nowMs as number) : null;
    } catch {
      return null;
    }
  }

  async keep(nowMs: number): Promise<void> {
    await diskFaults(() => writeDurable(this.#path, `${JSON.stringify({ nowMs })}\n`, 0o600));
  }
}
