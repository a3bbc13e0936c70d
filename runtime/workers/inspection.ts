// Looks at what a module graph exports, in a cell of its own that is thrown away afterwards.
import type { Clock } from "../../base/clock.ts";
import { AtollError } from "../../base/errors.ts";
import { type Cell, type CellOwner, CellStopped } from "../../sandbox/cell.ts";
import type { LoadResult } from "../../sandbox/protocol.ts";
import { InvalidModule, type Loadable, loadableGraph } from "./load-spec.ts";
import type { HandlerName, InspectionFault, InspectReport, ModuleBytes, ModuleGraph } from "./worker-runtime.ts";

/** A graph that has not finished evaluating by then is refused; top-level await can wait for ever without CPU. */
export const INSPECTION_WALL_MS = 15_000;

export interface InspectionParts {
  readonly clock: Clock;
  readonly bytes: ModuleBytes;
  openCell(loadable: Loadable, owner: CellOwner): Cell;
}

/** Code under inspection talks to nobody. */
const nobody: CellOwner = {
  call: async () => {
    throw new AtollError("egress_refused", "calls are possible only while an event is handled");
  },
  log: () => {},
};

const FAULTS: ReadonlySet<string> = new Set<InspectionFault>([
  "module_not_found",
  "unsupported_media_type",
  "module_invalid",
  "module_syntax_error",
  "module_evaluation_failed",
  "default_export_invalid",
]);

/** MW-41, MW-A11. Rejects only when the bytes cannot be read. */
export async function inspect(graph: ModuleGraph, parts: InspectionParts): Promise<InspectReport> {
  let content: Awaited<ReturnType<typeof loadableGraph>>;
  try {
    content = await loadableGraph(graph, parts.bytes);
  } catch (error) {
    if (error instanceof InvalidModule) return { ok: false, code: "module_invalid", message: error.message };
    throw error;
  }
  const spec = {
    workerName: "",
    versionUid: "",
    entrypoint: graph.entrypoint,
    modules: content.modules,
    handlers: [],
    vars: "{}",
    secrets: {},
    services: [],
    inspect: true,
  };
  const cell = parts.openCell({ spec, blocks: content.blocks }, nobody);
  const cancel = parts.clock.after(INSPECTION_WALL_MS, () => void cell.stop("retired"));
  try {
    return report(await cell.loaded);
  } catch (error) {
    if (!(error instanceof CellStopped)) throw error;
    if (error.reason === "crashed") {
      return { ok: false, code: "module_evaluation_failed", message: "evaluating the modules ended their cell" };
    }
    return { ok: false, code: "inspection_timeout", message: "evaluating the modules took too much time or memory" };
  } finally {
    cancel();
    await cell.stop("retired");
  }
}

function report(result: LoadResult): InspectReport {
  if (result.ok) return { ok: true, handlers: result.handlers as HandlerName[], classes: result.classes };
  const code = FAULTS.has(result.code) ? (result.code as InspectionFault) : "module_evaluation_failed";
  return { ok: false, code, message: result.message };
}
