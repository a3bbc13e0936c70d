import type { OutboundRequest, OutboundResponse } from "../egress/tenant-fetch.ts";

/** The way out for tenant fetches (MW-69). Rejects with AtollError. */
export interface Outbound {
  fetch(request: OutboundRequest, signal: AbortSignal): Promise<OutboundResponse>;
}
