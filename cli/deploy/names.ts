// How the Resources of one deployed Worker are named. A name that carries a digest is found again by whoever deploys the
// same thing, so deploying twice changes nothing.
import canonicalize from "canonicalize";
import { isName } from "../../base/ids.ts";
import { UsageError } from "../usage-error.ts";
import { sha256Hex } from "./sha256-hex.ts";

const DIGITS = 12;
/** The longest ending that is put behind a name. */
const ENDING_MAX = "-deployment".length + DIGITS;

export interface Names {
  readonly worker: string;
  readonly deployment: string;
  readonly endpoint: string;
  /** What every bundle and every version of this Worker begins with. */
  readonly bundlePrefix: string;
  readonly versionPrefix: string;
}

/** Throws a UsageError unless `name` and everything made from it is a Resource name (HA-21). */
export function namesOf(name: string): Names {
  if (!isName(name) || name.length > 128 - ENDING_MAX) {
    throw new UsageError(
      `${JSON.stringify(name)} is no name for a Worker; use up to ${128 - ENDING_MAX} letters, digits, '.', '_' or '-', beginning with a letter or digit`,
    );
  }
  return {
    worker: name,
    deployment: `${name}-deployment`,
    endpoint: `${name}-endpoint`,
    bundlePrefix: `${name}-b-`,
    versionPrefix: `${name}-v-`,
  };
}

export function bundleName(names: Names, manifestSha256: string): string {
  return names.bundlePrefix + manifestSha256.slice(0, DIGITS);
}

/** Specs that mean the same have the same name (WV-39 … WV-42); `spec` has its sets sorted and its defaults left out. */
export function versionName(names: Names, spec: object): string {
  return names.versionPrefix + sha256Hex(canonicalize(spec) ?? "").slice(0, DIGITS);
}

/** A name for the Worker of an entry file: that of the file, or of its directory when the file's own tells nothing. */
export function defaultName(entry: string): string {
  const parts = entry.split(/[\\/]/).filter((part) => part !== "" && part !== "." && part !== "..");
  const stem = (parts.at(-1) ?? "").replace(/(?:\.d)?\.[cm]?[jt]sx?$/, "");
  const telling = /^(?:worker|index|main|src)$/.test(stem)
    ? (parts.filter((part) => part !== "src").at(-2) ?? stem)
    : stem;
  return (
    telling
      .toLowerCase()
      .replace(/[^a-z0-9._-]+/g, "-")
      .replace(/^[^a-z0-9]+/, "")
      .slice(0, 60) || "worker"
  );
}
