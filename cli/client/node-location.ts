// Where the node is that a command talks to, and with which token.
import { readFile } from "node:fs/promises";
import { isAbsolute, join, relative, resolve } from "node:path";
import { isJsonObject } from "../../base/json.ts";
import { UsageError } from "../usage-error.ts";
import { UnreachableError } from "./api-error.ts";

export const DEFAULT_DATA = ".atoll/data";

export interface LocationFlags {
  readonly data?: string;
  readonly url?: string;
  readonly tokenFile?: string;
  readonly caFile?: string;
}

export interface NodeLocation {
  /** Where requests go: scheme, host and port, without a final slash. */
  readonly origin: string;
  /**
   * What Discovery must say: a `baseUrl` on this very origin (HA-36), exactly this one (the node's own note, for its
   * plain listener), or any, since its path alone is used (a plain listener on this machine).
   */
  readonly baseUrl:
    | { readonly must: "be on the origin" }
    | { readonly must: "equal"; readonly value: string }
    | { readonly must: "exist" };
  readonly token: string;
  /** PEM of a certificate authority to trust; null for the public ones. */
  readonly ca: string | null;
  /** For people. */
  readonly description: string;
}

/** What `atoll serve` leaves in its data directory for the commands of the same machine. */
interface NodeNote {
  readonly http: string;
  readonly baseUrl: string;
  readonly adminTokenFile: string;
}

/**
 * Find the node: `--url`, `--data`, ATOLL_URL, ATOLL_DATA, or the default data directory, the first that is given.
 * Tokens of the environment go to a node that was named by URL only. Rejects with a UsageError, or an UnreachableError
 * when no node was ever started on the data directory.
 */
export async function locateNode(
  flags: LocationFlags,
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
): Promise<NodeLocation> {
  if (flags.url !== undefined && flags.data !== undefined) throw new UsageError("give --url or --data, not both");
  const url = flags.url ?? (flags.data === undefined ? env["ATOLL_URL"] || undefined : undefined);
  if (url !== undefined) return await locateByUrl(url, flags, env, cwd);
  return await locateByData(resolve(cwd, flags.data ?? (env["ATOLL_DATA"] || DEFAULT_DATA)), flags, cwd);
}

async function locateByUrl(
  text: string,
  flags: LocationFlags,
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
): Promise<NodeLocation> {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") {
    throw new UsageError(`${text} is no URL of a node; write https://host[:port]`);
  }
  if (url.pathname !== "/" || url.search !== "" || url.hash !== "") {
    throw new UsageError(`${text} has a path; give the node's origin alone, ${url.origin}`);
  }
  const plain = url.protocol === "http:";
  if (plain && !isLoopback(url.hostname)) {
    throw new UsageError("a token must not cross a network in the clear; use https:// for a node elsewhere");
  }
  return {
    origin: url.origin,
    baseUrl: { must: plain ? "exist" : "be on the origin" },
    token: await tokenFor(flags, env, cwd),
    ca: flags.caFile === undefined ? null : await readText(resolve(cwd, flags.caFile), "--ca-file"),
    description: url.origin,
  };
}

async function tokenFor(
  flags: LocationFlags,
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
): Promise<string> {
  if (flags.tokenFile !== undefined) return readToken(resolve(cwd, flags.tokenFile), "--token-file");
  if (env["ATOLL_TOKEN"]) return env["ATOLL_TOKEN"].trim();
  if (env["ATOLL_TOKEN_FILE"]) return readToken(resolve(cwd, env["ATOLL_TOKEN_FILE"]), "ATOLL_TOKEN_FILE");
  throw new UsageError("a node named by URL needs a token; give --token-file, or set ATOLL_TOKEN or ATOLL_TOKEN_FILE");
}

async function locateByData(directory: string, flags: LocationFlags, cwd: string): Promise<NodeLocation> {
  const shown = shortPath(directory, cwd);
  const note = await readNote(join(directory, "node.json"), shown);
  return {
    origin: note.http.replace(/\/$/, ""),
    baseUrl: { must: "equal", value: note.baseUrl },
    token:
      flags.tokenFile === undefined
        ? await readToken(resolve(directory, note.adminTokenFile), "the node's admin token")
        : await readToken(resolve(cwd, flags.tokenFile), "--token-file"),
    ca: null,
    description: `the node of ${shown}`,
  };
}

async function readNote(path: string, shown: string): Promise<NodeNote> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch {
    throw new UnreachableError(
      `no node has been started on ${shown}`,
      `start one with 'atoll serve --data ${shown}', or name another with --data or --url`,
    );
  }
  try {
    const note: unknown = JSON.parse(text);
    if (isJsonObject(note)) {
      const { http, baseUrl, adminTokenFile } = note;
      if (typeof http === "string" && typeof baseUrl === "string" && typeof adminTokenFile === "string") {
        return { http, baseUrl, adminTokenFile };
      }
    }
  } catch {
    // Falls through to the same advice.
  }
  throw new UnreachableError(`${shown} holds a damaged node.json`, "start the node again");
}

async function readToken(path: string, what: string): Promise<string> {
  const token = (await readText(path, what)).trim();
  if (!/^[\x21-\x7e]+$/.test(token)) throw new UsageError(`${what} holds no token`);
  return token;
}

async function readText(path: string, what: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch {
    throw new UsageError(`${what} cannot be read; check that the file is there and that you may read it`);
  }
}

function isLoopback(hostname: string): boolean {
  return /^(?:127(?:\.\d{1,3}){3}|\[::1\]|(?:.+\.)?localhost)$/.test(hostname);
}

function shortPath(path: string, cwd: string): string {
  const short = relative(cwd, path);
  return short === "" || short.startsWith("..") || isAbsolute(short) ? path : short;
}
