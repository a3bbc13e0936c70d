// What a bundle's record shows, and the module graph that others read from it.
import type { Sha256Hex } from "../../../base/ids.ts";
import type { JsonObject } from "../../../base/json.ts";
import type { ModuleFile, ModuleGraph } from "../../../runtime/workers/worker-runtime.ts";
import type { ResourceRecord } from "../form.ts";
import { type Standing, standingOf } from "../standing.ts";

/** The whole verified inventory (WB-38 … WB-42); there is no partial one (WB-37). */
export function observeBundle(manifestSha256: Sha256Hex, graph: ModuleGraph): JsonObject {
  return {
    manifestSha256,
    fileCount: graph.files.length,
    totalBytes: graph.files.reduce((sum, file) => sum + file.byteSize, 0),
    entrypoint: graph.entrypoint,
    files: graph.files.map(({ path, sha256, mediaType, byteSize }) => ({ path, sha256, mediaType, byteSize })),
  };
}

/** The verified module graph; null while the record shows none. */
export function graphOf(bundle: ResourceRecord): ModuleGraph | null {
  const { entrypoint, files } = bundle.observed as { entrypoint?: string; files?: readonly ModuleFile[] };
  return entrypoint === undefined || files === undefined ? null : { entrypoint, files };
}

/** Whether Versions may rely on the bundle (WV-A5). */
export function bundleStanding(bundle: ResourceRecord): Standing {
  return standingOf(bundle, graphOf(bundle) !== null);
}
