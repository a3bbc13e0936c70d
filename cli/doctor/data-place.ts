// The data directory as the checks see it: what it is, what it holds, and where beside it something can be tried out.
import { accessSync, constants, existsSync, lstatSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { isJsonObject } from "../../base/json.ts";
import type { DataDirectoryFacts, FileFacts } from "./data-directory.ts";
import { readText } from "./read-text.ts";

export interface DataPlace {
  /** The data directory, or where it is missing its nearest parent that exists. */
  readonly existing: string;
}

/** Files that hold keys, tokens or private inputs. */
const SECRETS = [
  "admin-token",
  "secret-key",
  "node.json",
  "control.sqlite",
  "control.sqlite-wal",
  "tls/authority.pem",
  "tls/server.pem",
];

export function dataPlace(data: string): DataPlace {
  let existing = data;
  while (!existsSync(existing)) existing = dirname(existing);
  return { existing };
}

/** Run `work` in a directory of its own, which goes away with everything in it. */
export async function inScratch<T>({ existing }: DataPlace, work: (directory: string) => T | Promise<T>): Promise<T> {
  const directory = mkdtempSync(join(existing, ".atoll-doctor-"));
  try {
    return await work(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

export function dataDirectoryFacts(data: string): DataDirectoryFacts {
  const { existing } = dataPlace(data);
  const found = existing === data ? statSync(data) : null;
  return {
    uid: process.geteuid?.() ?? 0,
    directory: found === null ? null : { mode: found.mode, uid: found.uid, isDirectory: found.isDirectory() },
    writable: isWritable(existing),
    secrets: found?.isDirectory() === true ? SECRETS.flatMap((path) => fileFacts(data, path)) : [],
  };
}

/** Ports of the node that runs on the data directory, by the note that it left there; empty when none runs. */
export function ownPorts(data: string): ReadonlySet<number> {
  try {
    const note: unknown = JSON.parse(readText(join(data, "node.json")) ?? "null");
    if (!isJsonObject(note) || typeof note.pid !== "number" || !existsSync(`/proc/${note.pid}`)) return new Set();
    const urls = [note.http, note.https].filter((url) => typeof url === "string");
    return new Set(urls.map((url) => Number(new URL(url).port)));
  } catch {
    return new Set();
  }
}

function fileFacts(data: string, path: string): FileFacts[] {
  const found = lstatSync(join(data, path), { throwIfNoEntry: false });
  return found === undefined ? [] : [{ path, mode: found.mode, uid: found.uid }];
}

function isWritable(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
