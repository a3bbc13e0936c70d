import { resolve } from "node:path";
import { BUN, ROOT, run } from "./commands.mjs";

/** npm run build [-- path]: the single binary, dist/atoll unless `args` name another place. Resolves to the exit code. */
export function build([outfile]) {
  const place = outfile === undefined ? [] : [resolve(process.env.INIT_CWD ?? ROOT, outfile)];
  return run(BUN, ["--no-env-file", `${ROOT}scripts/build.ts`, ...place]);
}
