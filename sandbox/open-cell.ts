import { type CellOptions, type HostedCell } from "./hosted-cell.ts";
import { ProcessCell } from "./process-cell.ts";
import { type LoadSpec, usesWasm } from "./protocol.ts";
import { ThreadCell } from "./thread-cell.ts";

/**
 * Open the lightest cell that can always be ended: a thread, but a process where the engine would not let go of one. That
 * is for WebAssembly, whose loops nothing interrupts, and for code that nobody has compiled yet, because so is the
 * compiler's work on some sources.
 */
export function openCell(spec: LoadSpec, blocks: readonly Uint8Array[], options: CellOptions): HostedCell {
  return spec.inspect || usesWasm(spec)
    ? new ProcessCell(spec, blocks, options)
    : new ThreadCell(spec, blocks, options);
}
