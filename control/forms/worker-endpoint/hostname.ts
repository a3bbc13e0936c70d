// The address of an endpoint (WE-9 … WE-14, WE-A6, WE-A8).
import { createHash } from "node:crypto";
import type { ResourceUid } from "../../../base/ids.ts";
import { invariant } from "../../../base/invariant.ts";

/** WE-11. */
const HOSTNAME_CHARS_MAX = 253;
const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Readable part of the label; with the hyphen and the tag it stays below 63 characters. */
const STEM_CHARS_MAX = 40;
/** 100 bits in base 32: no two uids share a tag, and uids are never used again (HA-67). */
const TAG_CHARS = 20;
const TAG_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";

/** Whether `text` is a lowercase DNS name under which endpoints can be addressed. */
export function isEndpointDomain(text: string): boolean {
  const longest = STEM_CHARS_MAX + 1 + TAG_CHARS + 1 + text.length;
  return longest <= HOSTNAME_CHARS_MAX && text.split(".").every((label) => LABEL.test(label));
}

/**
 * The hostname of one uid: `<stem>-<tag>.<domain>`, or `<tag>.<domain>` when the name gives no stem. It depends on
 * nothing else, so a repeated acceptance or a restart finds the same one.
 */
export function endpointHostname(uid: ResourceUid, name: string, domain: string): string {
  invariant(isEndpointDomain(domain), "the endpoint domain is a lowercase DNS name");
  const stem = stemOf(name);
  return `${stem === "" ? "" : `${stem}-`}${tagOf(uid)}.${domain}`;
}

/** Single hyphens only: two of them in third place would make the label look like an encoded international name. */
function stemOf(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, STEM_CHARS_MAX)
    .replaceAll(/^-|-$/g, "");
}

function tagOf(uid: ResourceUid): string {
  const digest = createHash("sha256").update(`endpoint ${uid}`).digest();
  let tag = "";
  for (const byte of digest.subarray(0, TAG_CHARS)) tag += TAG_ALPHABET[byte & 31];
  return tag;
}
