// A cell that is a process of its own: it can always be ended, even inside native code that no thread gets out of.
import type { Frame } from "../base/channel.ts";
import { type Carrier, type CarrierEvents, type CellOptions, HostedCell } from "./hosted-cell.ts";
import type { LoadSpec } from "./protocol.ts";
import type { MemoryUse } from "./watchdogs/cell-watchdog.ts";
import { processUse } from "./watchdogs/cpu-account.ts";
import { encodeFrame, FrameDecoder, FROM_CELL } from "./wire/frame-codec.ts";

/** Set by the build of the binary: the argument by which it runs as a cell. */
declare const ATOLL_PROCESS_MAIN: string | undefined;
const COMMAND =
  typeof ATOLL_PROCESS_MAIN === "string"
    ? [process.execPath, ATOLL_PROCESS_MAIN]
    : [process.execPath, new URL("./process-main.ts", import.meta.url).pathname];

export class ProcessCell extends HostedCell {
  constructor(spec: LoadSpec, blocks: readonly Uint8Array[], options: CellOptions) {
    super(spec, blocks, options, (events) => new Process(events));
  }
}

class Process implements Carrier {
  readonly #process: Bun.Subprocess<"pipe", "pipe", "ignore">;

  constructor(events: CarrierEvents) {
    // Nothing of the host's environment, and no directory in which the engine would find files to read.
    this.#process = Bun.spawn(COMMAND, { env: {}, cwd: "/", stdin: "pipe", stdout: "pipe", stderr: "ignore" });
    void this.#read(events);
    void this.#process.exited.then(() => events.closed());
  }

  async #read(events: CarrierEvents): Promise<void> {
    const decoder = new FrameDecoder(FROM_CELL);
    try {
      for await (const bytes of this.#process.stdout) for (const frame of decoder.push(bytes)) events.frame(frame);
    } catch {
      events.broken();
    }
  }

  send(frame: Frame): void {
    const { stdin } = this.#process;
    // A process that is gone takes nothing; its end is told by its exit.
    const ignore = (written: number | Promise<number> | undefined): void => {
      if (written instanceof Promise) written.catch(() => {});
    };
    try {
      for (const piece of encodeFrame(frame)) ignore(stdin.write(piece));
      ignore(stdin.flush());
    } catch {
      // As above.
    }
  }

  kill(): void {
    this.#process.kill("SIGKILL");
  }

  cpuMs(): number | null {
    return processUse(this.#process.pid)?.cpuMs ?? null;
  }

  memory(): MemoryUse {
    const use = processUse(this.#process.pid);
    // All of the process is the cell's.
    const faults = use?.pageFaults ?? 0;
    return { residentBytes: use?.residentBytes ?? 0, processFaults: faults, cellFaults: faults };
  }
}
