// The query of the log stream, decoded and authorised.
import { parseDuration } from "../../base/duration.ts";
import { AtollError } from "../../base/errors.ts";
import { isName, type SpaceName } from "../../base/ids.ts";
import type { Caller } from "../../control/principals/caller.ts";
import { LOG_KINDS, LOG_LEVELS, type LogFilter, type LogKind, type LogLevel } from "../../runtime/logs/log-filter.ts";
import type { LogStart } from "../../runtime/logs/log-bus.ts";
import { canonicalInteger, readQuery } from "../request.ts";

/** More than that is kept of no Worker. */
const TAIL_MAX = 10_000;

export interface LogQuery {
  readonly filter: LogFilter;
  readonly start: LogStart;
  /** False: what is kept, and then the end. */
  readonly follow: boolean;
  /** The id of the last event that the client got was of another run of the node. */
  readonly restarted: boolean;
}

/** Throws `invalid_request` for a malformed query, `forbidden` or `not_found` for a Space the caller may not read. */
export function readLogQuery(
  request: Request,
  caller: Caller,
  node: { readonly run: string; readonly nowMs: number; hasSpace(name: string): boolean },
): LogQuery {
  const names = ["worker", "space", "level", "version", "invocation", "kind", "since", "tail", "follow"] as const;
  const query = readQuery(request, names);
  const follow = query.follow ?? "true";
  if (follow !== "true" && follow !== "false") throw malformed("follow must be true or false");
  const filter: LogFilter = {
    spaces: readableSpaces(query.space, caller, node),
    worker: nameOrNull(query.worker, "worker"),
    version: nameOrNull(query.version, "version"),
    invocation: query.invocation ?? null,
    levelMin: query.level === undefined ? "debug" : levelOf(query.level),
    kinds: query.kind === undefined ? null : kindsOf(query.kind),
  };
  const last = lastEvent(request.headers.get("last-event-id"), node.run);
  if (last !== null) {
    const start: LogStart = { from: "after", seq: last.seq ?? 0 };
    return { filter, start, follow: follow === "true", restarted: last.seq === null };
  }
  return { filter, start: startOf(query.since, query.tail, node.nowMs), follow: follow === "true", restarted: false };
}

function startOf(since: string | undefined, tail: string | undefined, nowMs: number): LogStart {
  const count = tail === undefined ? null : canonicalInteger(tail);
  if (tail !== undefined && (count === null || count > TAIL_MAX)) {
    throw malformed(`tail must be a whole number up to ${TAIL_MAX}`);
  }
  if (since !== undefined) return { from: "since", atMs: instantOf(since, nowMs), count: count ?? TAIL_MAX };
  return count === null ? { from: "now" } : { from: "tail", count };
}

/** An RFC 3339 instant, or how long ago. */
function instantOf(text: string, nowMs: number): number {
  const ago = parseDuration(text);
  if (ago !== null) return nowMs - ago;
  const atMs = /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(atMs))
    throw malformed("since must be a duration such as 10m, or an instant such as 2026-01-01T12:00:00Z");
  return atMs;
}

/** `seq` is null for an id of another run of the node; null for no id. */
function lastEvent(header: string | null, run: string): { readonly seq: number | null } | null {
  if (header === null || header === "") return null;
  const [, itsRun, number = ""] = /^([A-Za-z0-9]+)-(\d{1,15})$/.exec(header) ?? [];
  if (itsRun === undefined) throw malformed("Last-Event-ID must be the id of an event of this stream");
  return { seq: itsRun === run ? Number(number) : null };
}

/** HA-50: a Space that the caller knows nothing of is as good as none. */
function readableSpaces(
  named: string | undefined,
  caller: Caller,
  node: { hasSpace(name: string): boolean },
): ReadonlySet<SpaceName> | null {
  if (named === undefined) {
    const spaces = caller.spaces("read");
    if (spaces?.length === 0) throw new AtollError("forbidden", "you may not read in any Space");
    return spaces === null ? null : new Set(spaces);
  }
  const space = named as SpaceName;
  if (!isName(named) || !caller.knows(space) || !node.hasSpace(named)) {
    throw new AtollError("not_found", "there is no such Space");
  }
  if (!caller.may("read", space)) throw new AtollError("forbidden", "you may not read in this Space");
  return new Set([space]);
}

function levelOf(text: string): LogLevel {
  const level = LOG_LEVELS.find((known) => known === text);
  if (level === undefined) throw malformed(`level must be one of ${LOG_LEVELS.join(", ")}`);
  return level;
}

function kindsOf(text: string): ReadonlySet<LogKind> {
  const kinds = text.split(",").map((one) => LOG_KINDS.find((known) => known === one));
  if (!kinds.every((kind) => kind !== undefined))
    throw malformed(`kind takes ${LOG_KINDS.join(", ")}, with commas between`);
  return new Set(kinds);
}

function nameOrNull(text: string | undefined, parameter: string): string | null {
  if (text === undefined) return null;
  if (!isName(text)) throw malformed(`${parameter} must be a name or a uid`);
  return text;
}

function malformed(message: string): AtollError {
  return new AtollError("invalid_request", message);
}
