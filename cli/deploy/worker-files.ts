// From a TypeScript entry file to the files of a WorkerBundle.
//
//   B1. The same sources give the same bytes, whatever the machine, the working directory or the environment.
//   B2. JavaScript becomes one module; .wasm, .txt and .bin imports stay modules of their own.
//   B3. What a Worker cannot have at run time is refused here, by name, and not when it is called.
import { readFile } from "node:fs/promises";
import { builtinModules } from "node:module";
import { basename, dirname, extname, relative, resolve } from "node:path";
import type { BunPlugin } from "bun";
import { ARTIFACT_BYTES_MAX } from "../../base/limits.ts";
import type { MediaType } from "../../runtime/workers/worker-runtime.ts";
import { BuildError, type SourcePlace } from "./build-error.ts";
import { sha256Hex } from "./sha256-hex.ts";

export interface WorkerFile {
  readonly path: string;
  readonly mediaType: MediaType;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly sha256: string;
}

export interface WorkerFiles {
  readonly entrypoint: string;
  /** The entry module first, then its source map, then the others by path. */
  readonly files: readonly WorkerFile[];
  /** Absolute paths of the sources that these files were made from. */
  readonly inputs: readonly string[];
}

const ENTRYPOINT = "worker.js";

const ASSET_TYPES: Readonly<Record<string, MediaType>> = {
  ".wasm": "application/wasm",
  ".txt": "text/plain",
  ".bin": "application/octet-stream",
};

/** Modules of Node.js that the bundler has a version of in plain JavaScript. */
const POLYFILLED = new Set([
  "assert",
  "buffer",
  "events",
  "path",
  "punycode",
  "querystring",
  "string_decoder",
  "url",
  "util",
]);

/** Bundle the Worker whose main module is `entry`. Rejects with a BuildError that says where the fault is. */
export async function buildWorkerFiles(entry: string): Promise<WorkerFiles> {
  const path = resolve(entry);
  await readFile(path).catch(() => {
    throw new BuildError(
      `${entry} cannot be read; name the TypeScript or JavaScript file with the Worker's main module`,
    );
  });
  const assets = new Map<string, WorkerFile>();
  const inputs = new Set<string>();
  // The bundler writes paths relative to the working directory into its output, so this has to be a fixed place (B1).
  const result = await inDirectory(dirname(path), () =>
    Bun.build({
      entrypoints: [`./${basename(path)}`],
      root: ".",
      target: "browser",
      format: "esm",
      splitting: false,
      sourcemap: "external",
      naming: "worker.[ext]",
      env: "disable",
      metafile: true,
      define: { "process.env.NODE_ENV": '"production"' },
      plugins: [separateAssets(assets, inputs), refuseBuiltins()],
      throw: false,
    }),
  );
  if (!result.success) throw faultOf(result.logs, path);
  for (const input of Object.keys(result.metafile?.inputs ?? {})) inputs.add(resolve(dirname(path), input));
  const built: WorkerFile[] = [];
  for (const output of result.outputs) {
    const bytes = new Uint8Array(await output.arrayBuffer());
    if (output.kind === "entry-point") built.unshift(toFile(ENTRYPOINT, "application/javascript+module", bytes));
    else if (output.kind === "sourcemap") built.push(toFile(`${ENTRYPOINT}.map`, "application/source-map+json", bytes));
  }
  const others = [...assets.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
  const files = [...built, ...others];
  for (const file of files) {
    if (file.bytes.length > ARTIFACT_BYTES_MAX)
      throw new BuildError(`${file.path} is larger than the 16 MiB a file may have`);
  }
  return { entrypoint: ENTRYPOINT, files, inputs: [...inputs].sort() };
}

function separateAssets(assets: Map<string, WorkerFile>, inputs: Set<string>): BunPlugin {
  return {
    name: "atoll-assets",
    setup(build) {
      build.onResolve({ filter: /\.(?:wasm|txt|bin)$/ }, async ({ path, importer, resolveDir }) => {
        const extension = extname(path);
        const mediaType = ASSET_TYPES[extension];
        if (mediaType === undefined) return undefined;
        const from = resolveDir ?? dirname(importer);
        const found = /^\.{0,2}\//.test(path) ? resolve(from, path) : Bun.resolveSync(path, from);
        const bytes = new Uint8Array(await readFile(found));
        inputs.add(found);
        // The digest in the name keeps two files of one name apart, and the name stays readable.
        const stem = basename(path, extension).replace(/[^A-Za-z0-9._-]/g, "_");
        const file = toFile(`assets/${stem}-${sha256Hex(bytes).slice(0, 8)}${extension}`, mediaType, bytes);
        assets.set(file.path, file);
        return { path: `./${file.path}`, external: true };
      });
    },
  };
}

function refuseBuiltins(): BunPlugin {
  return {
    name: "atoll-builtins",
    setup(build) {
      build.onResolve({ filter: /^[a-z]/ }, ({ path, importer }) => {
        const name = path.replace(/^node:/, "").split("/")[0] ?? "";
        const isBuiltin = /^(?:node|bun):/.test(path) || path === "bun" || builtinModules.includes(name);
        if (!isBuiltin || POLYFILLED.has(name)) return undefined;
        throw new BuildError(
          `${relative(".", importer)} imports ${path}, which no Worker has; use web platform APIs instead`,
        );
      });
    },
  };
}

function toFile(path: string, mediaType: MediaType, bytes: Uint8Array<ArrayBuffer>): WorkerFile {
  return { path, mediaType, bytes, sha256: sha256Hex(bytes) };
}

interface BuildLog {
  readonly message: string;
  readonly position?: SourcePlace | null;
}

function faultOf(logs: readonly BuildLog[], entry: string): BuildError {
  const first = logs[0];
  const more = logs.length > 1 ? ` (and ${logs.length - 1} more)` : "";
  if (first === undefined) return new BuildError(`${basename(entry)} could not be bundled`);
  const { position, message } = first;
  const bare = `${message}${more}`;
  if (!position || position.line < 1) return new BuildError(bare);
  const { line, column, lineText } = position;
  const file = resolve(dirname(entry), position.file);
  const place = { file, line, column, lineText, length: Math.max(1, position.length) };
  return new BuildError(`${relative(dirname(entry), file)}:${line}:${column}: ${bare}`, { place, bare });
}

async function inDirectory<T>(directory: string, run: () => Promise<T>): Promise<T> {
  const before = process.cwd();
  process.chdir(directory);
  try {
    return await run();
  } finally {
    process.chdir(before);
  }
}
