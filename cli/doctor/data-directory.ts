import { type Finding, fail, ok, warn } from "./finding.ts";

export interface FileFacts {
  /** Within the data directory. */
  readonly path: string;
  readonly mode: number;
  readonly uid: number;
}

export interface DataDirectoryFacts {
  /** Of this process. */
  readonly uid: number;
  /** Null when it does not exist yet. */
  readonly directory: { readonly mode: number; readonly uid: number; readonly isDirectory: boolean } | null;
  /** Whether this process may make files in it, or make it where it is missing. */
  readonly writable: boolean;
  /** Those that hold keys, tokens and private inputs. */
  readonly secrets: readonly FileFacts[];
}

const OTHERS = 0o077;

export function dataDirectory({ uid, directory, writable, secrets }: DataDirectoryFacts): Finding {
  const yours = "run the node as the user that owns the data directory, or hand it over with chown -R";
  if (directory === null) {
    return writable
      ? ok("the data directory does not exist yet and can be made")
      : fail(
          "the data directory does not exist and cannot be made",
          "make it for the node's user: install -d -m 700 -o USER DIR",
        );
  }
  if (!directory.isDirectory) return fail("the data directory is a file", "name another place with --data");
  if (!writable) return fail("this user may not write into the data directory", yours);
  const open = secrets.find(({ mode }) => (mode & OTHERS) !== 0);
  if (open !== undefined) {
    return fail(
      `${open.path} can be read by other users (mode ${octal(open.mode)})`,
      `chmod 600 it, and replace the secret if others may have seen it`,
    );
  }
  const owner = uid === 0 ? directory.uid : uid;
  const foreign = secrets.find((file) => file.uid !== owner);
  if (foreign !== undefined) return fail(`${foreign.path} belongs to another user than the node's`, yours);
  if ((directory.mode & OTHERS) !== 0) {
    return warn(`other users can look into the data directory (mode ${octal(directory.mode)})`, "chmod 700 it");
  }
  return ok("the data directory and its secrets are the node's alone");
}

function octal(mode: number): string {
  return (mode & 0o777).toString(8).padStart(3, "0");
}
