import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

/** The checkout, with a trailing slash. */
export const ROOT = fileURLToPath(new URL("../", import.meta.url));
export const BUN = `${ROOT}node_modules/bun/bin/bun.exe`;

/** The command that npm put into node_modules/.bin. */
export function bin(name) {
  return `${ROOT}node_modules/.bin/${name}`;
}

/** Run a command in the checkout with the terminal's own streams; resolves to its exit code, 1 when a signal ended it. */
export function run(command, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: ROOT, stdio: "inherit" });
    child.once("error", reject);
    child.once("exit", (code) => resolve(code ?? 1));
  });
}
