// What both entries of a cell share: the cell's end of the protocol in this thread, and what becomes of stray errors.
import { types } from "node:util";
import { fullGC, heapSize } from "bun:jsc";
import type { Channel } from "../base/channel.ts";
import { CellSide } from "./cell-side.ts";

/** Run a cell in this thread; its frames leave by `channel`. */
export function openCellSide(channel: Channel): CellSide {
  const side = new CellSide(channel, {
    heapBytes: heapSize,
    collectGarbage: () => void fullGC(),
    monotonicMs: () => performance.now(),
    nonce: () => crypto.randomUUID(),
  });
  // A tenant's stray error must not end the thread, and must not be looked at closely: reading it would run its getters.
  // The realm reports what it can by itself; what arrives here slipped through.
  process.on("uncaughtException", (error: unknown) => side.logUncaught(`Uncaught: ${knownOf(error)}`));
  process.on("unhandledRejection", (error: unknown) => side.logUncaught(`Unhandled rejection: ${knownOf(error)}`));
  return side;
}

/** The message of a true error when it is plain data; nothing of the tenant's runs here. */
function knownOf(error: unknown): string {
  const message = types.isNativeError(error) ? Object.getOwnPropertyDescriptor(error, "message")?.value : undefined;
  return typeof message === "string" ? message.slice(0, 1_000) : "an error";
}
