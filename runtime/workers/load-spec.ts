import type { LoadModule, LoadSpec } from "../../sandbox/protocol.ts";
import type { ModuleBytes, ModuleFile, ModuleGraph, VersionSpec } from "./worker-runtime.ts";

/** A module file that cannot be what its media type says (MW-32). */
export class InvalidModule extends Error {
  override readonly name = "InvalidModule";
}

export interface Loadable {
  readonly spec: LoadSpec;
  /** Bytes that `spec.modules` refers to by index. */
  readonly blocks: readonly Uint8Array[];
}

/** Read a graph's bytes for a cell. Rejects with InvalidModule, or with the store's error when bytes are not held. */
export async function loadableGraph(
  graph: ModuleGraph,
  bytes: ModuleBytes,
): Promise<{ modules: LoadModule[]; blocks: Uint8Array[] }> {
  const blocks: Uint8Array[] = [];
  const modules: LoadModule[] = [];
  for (const file of graph.files) {
    if (file.mediaType === "application/source-map+json") {
      modules.push({ path: file.path, kind: "source-map" });
      continue;
    }
    modules.push(loadModule(file, await bytes.read(file.sha256), blocks));
  }
  return { modules, blocks };
}

function loadModule(file: ModuleFile, content: Uint8Array, blocks: Uint8Array[]): LoadModule {
  const { path, mediaType } = file;
  if (mediaType === "application/javascript+module") {
    return { path, kind: "javascript", source: strictUtf8(path, content) };
  }
  if (mediaType === "text/plain") return { path, kind: "text", source: strictUtf8(path, content) };
  // A copy: the block changes hands, and the store may keep its own. (A Buffer's own slice would be no copy.)
  blocks.push(new Uint8Array(content));
  return { path, kind: mediaType === "application/wasm" ? "wasm" : "bytes", block: blocks.length - 1 };
}

/** Valid UTF-8 and nothing else; a byte order mark is content (MW-26). */
function strictUtf8(path: string, content: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    throw new InvalidModule(`${path} is not valid UTF-8`);
  }
}

/** What a cell needs to run `version`. */
export async function loadable(
  version: VersionSpec,
  secrets: Readonly<Record<string, string>>,
  bytes: ModuleBytes,
): Promise<Loadable> {
  const { modules, blocks } = await loadableGraph(version.graph, bytes);
  return {
    blocks,
    spec: {
      workerName: version.workerName,
      versionUid: version.versionUid,
      entrypoint: version.graph.entrypoint,
      modules,
      handlers: version.handlers,
      vars: JSON.stringify(version.vars),
      secrets,
      services: version.bindings.filter(({ kind }) => kind === "service").map(({ name }) => name),
      inspect: false,
    },
  };
}
