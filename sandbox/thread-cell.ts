// A cell that is a worker thread.
import type { Frame } from "../base/channel.ts";
import { type Carrier, type CarrierEvents, type CellOptions, HostedCell } from "./hosted-cell.ts";
import type { LoadSpec } from "./protocol.ts";
import type { MemoryUse } from "./watchdogs/cell-watchdog.ts";
import { pageFaults, threadCpuMs } from "./watchdogs/cpu-account.ts";

/** Set by the build of the binary, which holds the cell's entry compiled and under another name. */
declare const ATOLL_THREAD_MAIN: string | undefined;
const THREAD_MAIN =
  typeof ATOLL_THREAD_MAIN === "string" ? ATOLL_THREAD_MAIN : new URL("./thread-main.ts", import.meta.url).href;

export class ThreadCell extends HostedCell {
  constructor(spec: LoadSpec, blocks: readonly Uint8Array[], options: CellOptions) {
    super(spec, blocks, options, (events) => new Thread(events));
  }
}

class Thread implements Carrier {
  readonly #worker: Worker;
  /** The kernel's id of the thread, once it has told. */
  #id: string | null = null;

  constructor(events: CarrierEvents) {
    // An empty environment: whatever leaked from a realm would find nothing of the host's here.
    this.#worker = new Worker(THREAD_MAIN, { env: {} });
    this.#worker.onmessage = ({ data }: MessageEvent<unknown>) => {
      if (typeof data === "string") events.frame({ text: data, blocks: [] });
      else if (Array.isArray(data)) events.frame({ text: data[0] as string, blocks: data.slice(1) as Uint8Array[] });
      else this.#id = (data as { ready: string }).ready;
    };
    this.#worker.onerror = (event) => event.preventDefault();
    this.#worker.addEventListener("close", () => events.closed());
  }

  send({ text, blocks }: Frame): void {
    if (blocks.length === 0) this.#worker.postMessage(text);
    else this.#worker.postMessage([text, ...blocks], blocks.map(({ buffer }) => buffer) as ArrayBuffer[]);
  }

  kill(): void {
    this.#worker.terminate();
  }

  cpuMs(): number | null {
    return this.#id === null ? null : threadCpuMs(this.#id);
  }

  memory(): MemoryUse {
    return {
      residentBytes: process.memoryUsage.rss(),
      processFaults: pageFaults() ?? 0,
      cellFaults: (this.#id === null ? null : pageFaults(this.#id)) ?? 0,
    };
  }
}
