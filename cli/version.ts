// Which Atoll this is: the version of package.json, and the commit where it can be known.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import packageJson from "../package.json" with { type: "json" };

/** Set by the build of the binary; empty when that build was told no commit. */
declare const ATOLL_COMMIT: string | undefined;

/** `1.2.3 (commit 0123abcd…)`. A checkout asks git, and says only the version where git has no answer. */
export function versionLine(): string {
  const commit = typeof ATOLL_COMMIT === "string" ? ATOLL_COMMIT : commitOf(join(import.meta.dir, ".."));
  return commit === "" ? packageJson.version : `${packageJson.version} (commit ${commit})`;
}

/** Abbreviated, `-dirty` when tracked files differ from it; empty when `checkout` is not the root of a git work tree. */
export function commitOf(checkout: string): string {
  // Named, not searched for: an unpacked release inside another project's repository has no commit of its own.
  const args = [`--git-dir=${checkout}/.git`, "describe", "--always", "--dirty", "--exclude=*", "--abbrev=12"];
  const { status, stdout } = spawnSync("git", args, { cwd: checkout, encoding: "utf8" });
  return status === 0 ? stdout.trim() : "";
}
