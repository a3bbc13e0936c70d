// npm run bench: gets what the bench needs beside Atoll, then runs it with the pinned Bun.
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { BUN, ROOT, run } from "./commands.mjs";
import { installPackages } from "./install.mjs";

const BENCH = `${ROOT}bench/`;

/** `args` are options and row names; resolves to the exit code. */
export async function bench(args) {
  const measures = !args.some((arg) => ["--list", "--help", "-h"].includes(arg));
  if (measures) {
    installPackages(BENCH, `${BENCH}node_modules/.bin/workerd`);
    if (!hasWrk() && !installWrk()) {
      console.error("the bench needs wrk, which Debian has as a package: apt-get install wrk");
      return 69;
    }
    // The binary of these sources, whatever is in dist/.
    mkdirSync(`${BENCH}results`, { recursive: true });
    const args = ["--no-env-file", `${ROOT}scripts/build.ts`, `${BENCH}results/atoll`];
    if (spawnSync(BUN, args, { stdio: ["ignore", 2, 2] }).status !== 0) return 1;
  }
  return run(BUN, ["--no-env-file", `${BENCH}main.ts`, ...args]);
}

function hasWrk() {
  return spawnSync("wrk", ["--version"], { stdio: "ignore" }).error === undefined;
}

/** Only where it needs no password and changes nothing but this. */
function installWrk() {
  if (process.getuid?.() !== 0) return false;
  console.error("Installing wrk (apt-get install wrk) …");
  const options = { stdio: ["ignore", 2, 2] };
  const install = () => spawnSync("apt-get", ["install", "--yes", "--no-install-recommends", "wrk"], options);
  if (install().status !== 0) {
    spawnSync("apt-get", ["update"], options);
    install();
  }
  return hasWrk();
}
