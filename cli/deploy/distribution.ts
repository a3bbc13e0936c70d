// How much of a Worker's traffic each of its Versions gets while a new one is let in.
import { isJsonObject } from "../../base/json.ts";
import { invariant } from "../../base/invariant.ts";
import { DEPLOYMENT_VERSIONS_MAX, WEIGHT_TOTAL } from "../../base/limits.ts";
import type { Resource } from "../client/host-types.ts";
import { referenceAt } from "./target.ts";

export interface Share {
  readonly versionUid: string;
  /** Basis points, 1 to 10000 (WD-5). */
  readonly weight: number;
}

/** What a Deployment sends its traffic to: what it confirmed last, or what it was asked for. */
export function sharesOf(deployment: Resource | null): readonly Share[] {
  const selected = sharesIn(deployment?.observed["selectedVersions"], (entry) => entry["resourceUid"]);
  if (selected.length > 0) return selected;
  return sharesIn(deployment?.spec["versions"], (entry) => referenceAt(entry, "workerVersion"));
}

/**
 * The distribution after `versionUid` has got `weight`: the others keep their proportions in what is left. A Worker
 * without another Version gives all to the one it has. The smallest of too many others leave (WD-5).
 */
export function withShare(before: readonly Share[], versionUid: string, weight: number): readonly Share[] {
  invariant(Number.isInteger(weight) && weight >= 1 && weight <= WEIGHT_TOTAL, "a weight is 1 to 10000 basis points");
  const others = before
    .filter((share) => share.versionUid !== versionUid)
    .sort((a, b) => b.weight - a.weight)
    .slice(0, DEPLOYMENT_VERSIONS_MAX - 1);
  const left = WEIGHT_TOTAL - weight;
  if (left === 0 || others.length === 0) return [{ versionUid, weight: WEIGHT_TOTAL }];
  return [{ versionUid, weight }, ...scaled(others.slice(0, left), left)];
}

export function sameShares(a: readonly Share[], b: readonly Share[]): boolean {
  return (
    a.length === b.length &&
    a.every(({ versionUid, weight }) => b.some((share) => share.versionUid === versionUid && share.weight === weight))
  );
}

/** `total` divided in the proportions of `shares`: nobody gets nothing, and what rounding left goes to the largest. */
function scaled(shares: readonly Share[], total: number): Share[] {
  const sum = shares.reduce((all, { weight }) => all + weight, 0);
  const spare = total - shares.length;
  const parts = shares.map((share) => ({ ...share, weight: 1 + Math.floor((spare * share.weight) / sum) }));
  const rest = total - parts.reduce((all, { weight }) => all + weight, 0);
  return parts.map((share, i) => (i === 0 ? { ...share, weight: share.weight + rest } : share));
}

function sharesIn(list: unknown, uidOf: (entry: Record<string, unknown>) => unknown): Share[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((entry: unknown) => {
    if (!isJsonObject(entry)) return [];
    const [versionUid, weight] = [uidOf(entry), entry["weight"]];
    return typeof versionUid === "string" && typeof weight === "number" ? [{ versionUid, weight }] : [];
  });
}
