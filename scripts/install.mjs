import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { BUN, ROOT } from "./commands.mjs";

/** Install the pinned dependencies unless what is installed is exactly that. Ends the process when it cannot. */
export function installDependencies() {
  installPackages(ROOT, BUN);
}

/** The same for the package in `directory`, which ends in a slash; `proof` is a file that is there once it is installed. */
export function installPackages(directory, proof) {
  if (isInstalled(directory, proof)) return;
  const how = existsSync(`${directory}package-lock.json`) ? "ci" : "install";
  console.error(`Installing dependencies (npm ${how}) …`);
  const options = { cwd: directory, stdio: ["ignore", 2, 2] };
  const { status, error } = spawnSync("npm", [how, "--no-fund", "--no-audit"], options);
  if (status === 0) return;
  console.error(`npm ${how} failed${error ? `: ${error.message}` : ""}; mend that and run the command again`);
  process.exit(status ?? 1);
}

/** npm notes what it installed; that note has to agree with the lock file, whatever the files' times say. */
function isInstalled(directory, proof) {
  if (!existsSync(proof)) return false;
  const wanted = packages(`${directory}package-lock.json`);
  const present = packages(`${directory}node_modules/.package-lock.json`);
  if (wanted === null || present === null) return present !== null;
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === "") return true;
    const found = present[path];
    // Optional packages are those of other platforms.
    return found === undefined ? entry.optional === true : found.version === entry.version;
  });
}

function packages(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8")).packages ?? {};
  } catch {
    return null;
  }
}
