// Which handlers a Worker has, found the way the Host finds them: its modules are linked and evaluated in a throw-away
// cell of this process, under the same walls and the same time bound. A bundle that the Host would refuse is refused
// here, before anything is uploaded.
import type { Clock } from "../../base/clock.ts";
import { AtollError } from "../../base/errors.ts";
import type { Sha256Hex } from "../../base/ids.ts";
import { inspect } from "../../runtime/workers/inspection.ts";
import type { HandlerName, ModuleGraph } from "../../runtime/workers/worker-runtime.ts";
import { ThreadCell } from "../../sandbox/thread-cell.ts";
import { BuildError } from "./build-error.ts";
import type { WorkerFiles } from "./worker-files.ts";

const LIMITS = { cpuMs: 10_000, memoryBytes: 512 * 2 ** 20 } as const;
const CLOSE_GRACE_MS = 2_000;

/**
 * Rejects with a BuildError when the modules cannot be linked or evaluated (MW-41, MW-A11). `onStuck` is called when
 * their code cannot be stopped: it holds a thread of this process, which then has to end.
 */
export async function handlersOf(
  worker: WorkerFiles,
  clock: Clock,
  onStuck: () => void,
): Promise<readonly HandlerName[]> {
  const contents = new Map<string, Uint8Array>(worker.files.map((file) => [file.sha256, file.bytes]));
  const report = await inspect(graphOf(worker), {
    clock,
    bytes: {
      read: async (sha256) => {
        const bytes = contents.get(sha256);
        if (bytes === undefined) throw new AtollError("artifact_unreachable", "the bundle has no such file");
        return bytes;
      },
    },
    openCell: ({ spec, blocks }, owner) =>
      new ThreadCell(spec, blocks, { clock, limits: LIMITS, owner, closeGraceMs: CLOSE_GRACE_MS, onStuck }),
  });
  if (report.ok) return report.handlers;
  throw new BuildError(`the Worker does not load: ${report.code}: ${report.message}`);
}

function graphOf({ entrypoint, files }: WorkerFiles): ModuleGraph {
  return {
    entrypoint,
    files: files.map(({ path, mediaType, sha256, bytes }) => ({
      path,
      mediaType,
      sha256: sha256 as Sha256Hex,
      byteSize: bytes.length,
    })),
  };
}
