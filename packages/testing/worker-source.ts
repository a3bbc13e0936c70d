// Where the code of a Worker under test comes from.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, isAbsolute, join, normalize, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { Clock } from "../../base/clock.ts";
import { handlersOf } from "../../cli/deploy/handlers.ts";
import { buildWorkerFiles, type WorkerFiles } from "../../cli/deploy/worker-files.ts";
import type { HandlerName } from "../../runtime/workers/worker-runtime.ts";
import { TestingError } from "./testing-error.ts";

/** Exactly one of these. */
export interface WorkerSource {
  /** Text of the main module, TypeScript or JavaScript. */
  readonly source?: string | undefined;
  /** The main module: a path from the working directory, or a file: URL such as `new URL("worker.ts", import.meta.url)`. */
  readonly entry?: string | URL | undefined;
  /** Files by path; the first one is the main module. */
  readonly files?: Readonly<Record<string, string | Uint8Array>> | undefined;
}

export interface BuiltWorker {
  readonly files: WorkerFiles;
  readonly handlers: readonly HandlerName[];
}

// The bundler works in a directory of its own choosing, which belongs to the whole process.
let builds: Promise<unknown> = Promise.resolve();

/** Bundle the Worker as `atoll deploy` does. Rejects with an error that names the place of the fault. */
export async function buildWorker(
  source: WorkerSource,
  handlers: readonly HandlerName[] | undefined,
  clock: Clock,
): Promise<BuiltWorker> {
  const build = builds.then(() => bundle(source));
  builds = build.catch(() => {});
  const files = await build;
  return { files, handlers: handlers ?? (await foundHandlers(files, clock)) };
}

async function bundle({ source, entry, files }: WorkerSource): Promise<WorkerFiles> {
  const given = [source, entry, files].filter((one) => one !== undefined);
  if (given.length !== 1) throw new TestingError("deploy takes exactly one of source, entry and files");
  if (entry !== undefined) return await buildWorkerFiles(entry instanceof URL ? fileURLToPath(entry) : resolve(entry));
  const tree = Object.entries(files ?? { "worker.ts": source ?? "" });
  const [main] = tree[0] ?? [];
  if (main === undefined) throw new TestingError("files needs at least the main module");
  const directory = await mkdtemp(join(tmpdir(), "atoll-worker-"));
  try {
    for (const [path, content] of tree) await place(directory, path, content);
    return await buildWorkerFiles(join(directory, main));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function place(directory: string, path: string, content: string | Uint8Array): Promise<void> {
  const relative = normalize(path);
  if (isAbsolute(relative) || relative === ".." || relative.startsWith(`..${sep}`)) {
    throw new TestingError(`files: ${path} has to be a path without '..'`);
  }
  const target = join(directory, relative);
  await mkdir(dirname(target), { recursive: true });
  await writeFile(target, content);
}

async function foundHandlers(files: WorkerFiles, clock: Clock): Promise<readonly HandlerName[]> {
  const stuck = Promise.withResolvers<never>();
  stuck.promise.catch(() => {});
  const message = "the Worker's modules do not stop evaluating; give handlers to let the node find that out";
  const found = handlersOf(files, clock, () => stuck.reject(new TestingError(message)));
  return await Promise.race([found, stuck.promise]);
}
