// The single binary: everything that `atoll` needs, compiled into the pinned Bun.
//
//   R1. The same sources and dependencies give the same bytes, in whatever directory and at whatever time.
//   R2. The binary reads no file of the directory it is started in (.env, bunfig.toml) that its own options do not name.
import { mkdtemp, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { commitOf } from "../cli/version.ts";

const ROOT = new URL("../", import.meta.url).pathname;

export interface BinaryOptions {
  /** Path of the main module in the checkout. */
  readonly main?: string;
  /** Where the binary goes; its directory must exist. */
  readonly outfile: string;
  /** What `--version` says; empty when unknown. */
  readonly commit: string;
}

/** Build the binary. Rejects with what the bundler says, and leaves an older binary as it was. */
export async function buildBinary({ main = "cli/main.ts", outfile, commit }: BinaryOptions): Promise<void> {
  // The bundler writes source maps beside its result and the result in pieces, so it works in a place of its own. The
  // name inside stays the same, because it becomes part of the bytes (R1).
  const draft = await mkdtemp(join(dirname(outfile), ".build-"));
  try {
    await Bun.build({
      entrypoints: [main, "sandbox/thread-main.ts"].map((path) => join(ROOT, path)),
      root: ROOT,
      target: "bun",
      format: "esm",
      // Commands and libraries that are imported late are parsed late.
      splitting: true,
      // Parsing is most of a start; this halves the time.
      bytecode: true,
      // Names stay, and the maps say lines of the sources: stacks in an operator's log are for people.
      minify: { whitespace: true, syntax: true, identifiers: false },
      sourcemap: "inline",
      env: "disable",
      define: {
        "process.env.NODE_ENV": '"production"',
        ATOLL_COMMIT: JSON.stringify(commit),
        ATOLL_THREAD_MAIN: '"/$bunfs/root/sandbox/thread-main.js"',
        ATOLL_PROCESS_MAIN: '"__cell"',
        // CommonJS dependencies would get the path that they have on this machine (R1).
        __dirname: '"/"',
        __filename: '"/"',
      },
      compile: {
        outfile: join(draft, "atoll"),
        autoloadDotenv: false,
        autoloadBunfig: false,
        autoloadTsconfig: false,
        autoloadPackageJson: false,
      },
    });
    await rename(join(draft, "atoll"), outfile);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const outfile = process.argv[2] ?? join(ROOT, "dist/atoll");
  const commit = process.env["ATOLL_COMMIT"] ?? commitOf(ROOT);
  await Bun.$`mkdir -p ${dirname(outfile)}`;
  await buildBinary({ outfile, commit });
  const megabytes = Math.round(Bun.file(outfile).size / 1e6);
  console.log(`${basename(outfile)}: ${megabytes} MB, commit ${commit === "" ? "unknown" : commit}: ${outfile}`);
}
