import { join } from "node:path";
import type { Peer } from "../peer.ts";
import { AtollPeer } from "./atoll.ts";
import { WorkerdPeer } from "./workerd.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

/** The one that all ratios are about. */
export const ATOLL = "atoll";
/** The same sources as the single binary, which the bench builds for itself. */
export const BINARY = "binary";
/** Another checkout of Atoll, to see what a change brought. */
export const BEFORE = "before";

/** @param before directory of another checkout of Atoll, or null. */
export function allPeers(before: string | null): Peer[] {
  const others = before === null ? [] : [new AtollPeer(BEFORE, join(before, "bin/atoll"))];
  return [
    new AtollPeer(ATOLL, join(ROOT, "bin/atoll")),
    new AtollPeer(BINARY, join(ROOT, "bench/results/atoll")),
    ...others,
    new WorkerdPeer(),
  ];
}
