import { HOP_BY_HOP } from "../egress/http-headers.ts";
import { HEADER_SEPARATOR } from "../../sandbox/protocol.ts";

/** Framing is ours to say: a tenant's word about it could contradict what is sent. */
const FRAMING = new Set([...HOP_BY_HOP, "content-length"]);

/** Headers as one string, name NUL value NUL …, without what belongs to the connection. */
export function flatten(headers: Headers): string {
  const dropped = droppedBy(headers.get("connection"));
  let flat = "";
  headers.forEach((value, name) => {
    if (dropped.has(name)) return;
    flat += flat === "" ? `${name}\0${value}` : `\0${name}\0${value}`;
  });
  return flat;
}

/** What a Connection field names belongs to the connection, too. Nearly all of them name nothing of the kind. */
function droppedBy(connection: string | null): ReadonlySet<string> {
  if (connection === null || connection === "keep-alive" || connection === "close") return HOP_BY_HOP;
  return new Set([...HOP_BY_HOP, ...connection.split(",").map((token) => token.trim().toLowerCase())]);
}

export function flattenPairs(pairs: readonly (readonly [string, string])[]): string {
  return pairs
    .filter(([name]) => !HOP_BY_HOP.has(name))
    .map(([name, value]) => `${name}\0${value}`)
    .join(HEADER_SEPARATOR);
}

export function unflatten(flat: string): [string, string][] {
  if (flat === "") return [];
  const parts = flat.split(HEADER_SEPARATOR);
  const pairs: [string, string][] = [];
  for (let i = 0; i + 1 < parts.length; i += 2) pairs.push([parts[i] ?? "", parts[i + 1] ?? ""]);
  return pairs;
}

/** The headers of a response for the client: no hop-by-hop fields and no framing of the tenant's. */
export function responseHeaders(flat: string): Headers {
  const headers = new Headers();
  for (let from = 0; from < flat.length; ) {
    const middle = flat.indexOf(HEADER_SEPARATOR, from);
    if (middle < 0) break;
    const next = flat.indexOf(HEADER_SEPARATOR, middle + 1);
    const end = next < 0 ? flat.length : next;
    const name = flat.slice(from, middle);
    if (!FRAMING.has(name)) headers.append(name, flat.slice(middle + 1, end));
    from = end + 1;
  }
  return headers;
}
