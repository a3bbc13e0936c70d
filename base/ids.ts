// Branded identifiers: ids of different kinds never mix, and cost nothing at run time.

declare const kind: unique symbol;
type Id<Kind extends string> = string & { readonly [kind]: Kind };

export type ResourceUid = Id<"resource">;
export type OperationId = Id<"operation">;
export type SpaceName = Id<"space">;
export type PrincipalId = Id<"principal">;
export type FormUrl = Id<"form">;
export type ShardId = Id<"shard">;
export type NodeId = Id<"node">;
/** 64 lowercase hex digits. */
export type Sha256Hex = Id<"sha256">;

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const SHA256 = /^[0-9a-f]{64}$/;

/** HA-21: the grammar of uids, Spaces, names and Operation ids (1–128 characters, one path segment). */
export function isName(value: unknown): value is string {
  return typeof value === "string" && NAME.test(value);
}

/** 64 lowercase hex digits, no prefix. */
export function isSha256Hex(value: unknown): value is Sha256Hex {
  return typeof value === "string" && SHA256.test(value);
}

/**
 * HA-23: an absolute ASCII https URL with a nonempty host and no userinfo, query or fragment. Identity is equality
 * of the whole string, so nothing is normalised here.
 */
export function isFormUrl(value: unknown): value is FormUrl {
  return isPlainHttpsUrl(value);
}

/** An absolute ASCII https URL without userinfo, query or fragment, of at most `charsMax` characters. */
export function isPlainHttpsUrl(value: unknown, charsMax = 8192): value is string {
  if (typeof value !== "string" || value.length > charsMax) return false;
  if (!/^https:\/\/[\x21-\x7e]+$/.test(value)) return false;
  if (/[?#\\"<>^`{|}]/.test(value)) return false;
  const authority = /^https:\/\/([^/]*)/.exec(value)?.[1] ?? "";
  if (authority === "" || authority.startsWith(":") || authority.includes("@")) return false;
  try {
    return new URL(value).hostname !== "";
  } catch {
    return false;
  }
}
