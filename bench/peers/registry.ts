import type { Peer } from "../peer.ts";
import { AtollPeer } from "./atoll.ts";
import { WorkerdPeer } from "./workerd.ts";

const CHECKOUT = new URL("../../", import.meta.url).pathname;

/** The one that all ratios are about. */
export const ATOLL = "atoll";
/** Another checkout of Atoll, to see what a change brought. */
export const BEFORE = "before";

/** @param before directory of another checkout of Atoll, or null. */
export function allPeers(before: string | null): Peer[] {
  const others = before === null ? [] : [new AtollPeer(BEFORE, before)];
  return [new AtollPeer(ATOLL, CHECKOUT), ...others, new WorkerdPeer()];
}
