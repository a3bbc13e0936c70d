// One entry of an operator's allow-list: what its text means, and what it matches.
import ipaddr from "ipaddr.js";
import { AtollError } from "../../base/errors.ts";
import { type Address, parseAddress } from "./address.ts";
import { hostOf, portOf } from "./url-parts.ts";

export type AllowEntry =
  | { readonly kind: "origin"; readonly origin: string }
  | { readonly kind: "host"; readonly hostname: string; readonly subdomains: boolean; readonly port: number | null }
  | { readonly kind: "network"; readonly base: Address; readonly prefixBits: number };

/**
 * Read one entry: an exact origin (`https://registry.internal:8443`), a host with or without a port
 * (`registry.internal`, `*.svc.internal:8080`, `[::1]:80`), an address (`10.0.0.7`, `::1`) or a network
 * (`10.0.0.0/8`). Throws AtollError `invalid_request` for anything else.
 */
export function readAllowEntry(text: string): AllowEntry {
  const entry = text.includes("://") ? readOrigin(text) : (readNetwork(text) ?? readHost(text));
  if (entry !== null) return entry;
  throw new AtollError(
    "invalid_request",
    `The allow-list entry ${JSON.stringify(text)} is no origin, host, address or network.`,
    { hint: "Write https://host:port, host, host:port, *.domain, an IP address, or a network such as 10.0.0.0/8." },
  );
}

/** Whether the entry names the origin or the host of `url`. */
export function namesUrl(entry: AllowEntry, url: URL): boolean {
  if (entry.kind === "origin") return url.origin === entry.origin;
  if (entry.kind === "network" || (entry.port !== null && entry.port !== portOf(url))) return false;
  return entry.subdomains ? url.hostname.endsWith(`.${entry.hostname}`) : url.hostname === entry.hostname;
}

/** Whether the entry is a network with `address` in it. */
export function covers(entry: AllowEntry, address: Address): boolean {
  if (entry.kind !== "network" || entry.base.kind() !== address.kind()) return false;
  return address.match(entry.base, entry.prefixBits);
}

/** Whether the entry is exactly this one address. */
export function spells(entry: AllowEntry, address: Address): boolean {
  return covers(entry, address) && entry.kind === "network" && entry.prefixBits === widthOf(address);
}

function readOrigin(text: string): AllowEntry | null {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) return null;
  // `https://host/path` would promise a bound that is not kept, so a slash is the most that may follow the origin.
  const isBare = url.pathname === "/" && url.search === "" && url.hash === "" && url.username === "";
  return isBare && url.password === "" && !/[?#@]/.test(text) ? { kind: "origin", origin: url.origin } : null;
}

function readNetwork(text: string): AllowEntry | null {
  const [address = "", bits, ...rest] = text.split("/");
  const base = parseAddress(address.replace(/^\[(.*)\]$/, "$1"));
  if (base === null || rest.length > 0) return null;
  if (bits === undefined) return { kind: "network", base, prefixBits: widthOf(base) };
  // A mapped address became IPv4, and its prefix length with it would mean something else.
  const isMapped = base.kind() === "ipv4" && address.includes(":");
  const prefixBits = /^\d{1,3}$/.test(bits) ? Number(bits) : -1;
  if (isMapped || prefixBits < 0 || prefixBits > widthOf(base)) return null;
  return { kind: "network", base, prefixBits };
}

function readHost(text: string): AllowEntry | null {
  const subdomains = text.startsWith("*.");
  const [, host = "", port] =
    /^(\[[^\]]*\]|[^:/\\?#@\s]+)(?::(\d{1,5}))?$/.exec(subdomains ? text.slice(2) : text) ?? [];
  // The URL parser brings the name to the one form in which requests carry it.
  const url = host === "" ? null : URL.parse(`http://${host}/`);
  if (url === null || url.hostname.includes("*") || Number(port ?? 0) > 65_535) return null;
  if (subdomains && parseAddress(hostOf(url)) !== null) return null;
  return { kind: "host", hostname: url.hostname, subdomains, port: port === undefined ? null : Number(port) };
}

function widthOf(address: Address): number {
  return address instanceof ipaddr.IPv4 ? 32 : 128;
}
