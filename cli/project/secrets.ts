// Values of a project's secrets: from a file that was named, from the environment, or from the person at the terminal.
// They go into one request to the Host and are written nowhere.
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { parseEnv } from "node:util";
import { UsageError } from "../usage-error.ts";

export interface SecretSources {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Of `NAME=value` lines; relative to `cwd`. */
  readonly file: string | undefined;
  readonly cwd: string;
  /** Asks for one value without showing it; null when nobody can be asked. */
  readonly ask: ((name: string) => Promise<string>) | null;
}

/** A value for every name. Rejects with a UsageError that names the first secret without one. */
export async function secretValues(
  names: readonly string[],
  sources: SecretSources,
): Promise<Readonly<Record<string, string>>> {
  const known = await knownSecrets(names, sources);
  const values: Record<string, string> = {};
  for (const name of names) {
    const value = known[name] ?? (await sources.ask?.(name));
    if (value === undefined || value === "") {
      const place =
        sources.file === undefined
          ? "or give a file of NAME=value lines with --secrets-file"
          : `or add it to ${sources.file}`;
      throw new UsageError(`the secret ${name} has no value; set the environment variable ${name}, ${place}`);
    }
    values[name] = value;
  }
  return values;
}

/** The values that are known without asking anybody. */
export async function knownSecrets(
  names: readonly string[],
  { env, file, cwd }: SecretSources,
): Promise<Readonly<Record<string, string>>> {
  const written = file === undefined ? {} : await readSecretsFile(resolve(cwd, file), file);
  const values: Record<string, string> = {};
  for (const name of names) {
    // What was named for this one run says more than what happens to be in the environment.
    const value = (Object.hasOwn(written, name) ? written[name] : undefined) ?? env[name];
    if (value !== undefined && value !== "") values[name] = value;
  }
  return values;
}

async function readSecretsFile(path: string, name: string): Promise<Readonly<Record<string, string | undefined>>> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch {
    throw new UsageError(`${name} cannot be read; check the path given with --secrets-file`);
  }
  return parseEnv(text);
}
