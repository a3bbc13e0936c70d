// Entry of a cell that is a worker thread. Nothing but this file knows that the channel is a MessagePort.
import { readlinkSync } from "node:fs";
import { types } from "node:util";
import { fullGC, heapSize } from "bun:jsc";
import { CellSide } from "./cell-side.ts";

declare const self: {
  onmessage: ((event: MessageEvent) => void) | null;
  postMessage(message: unknown, transfer?: ArrayBufferLike[]): void;
};

const side = new CellSide(
  {
    send: ({ text, blocks }) => {
      if (blocks.length === 0) self.postMessage(text);
      else
        self.postMessage(
          [text, ...blocks],
          blocks.map((block) => block.buffer),
        );
    },
  },
  {
    heapBytes: heapSize,
    collectGarbage: () => void fullGC(),
    monotonicMs: () => performance.now(),
    nonce: () => crypto.randomUUID(),
  },
);

// A tenant's stray error must not end the thread, and must not be looked at closely: reading it would run its getters.
// The realm reports what it can by itself; what arrives here slipped through.
process.on("uncaughtException", (error: unknown) => side.logUncaught(`Uncaught: ${knownOf(error)}`));
process.on("unhandledRejection", (error: unknown) => side.logUncaught(`Unhandled rejection: ${knownOf(error)}`));

/** The message of a true error when it is plain data; nothing of the tenant's runs here. */
function knownOf(error: unknown): string {
  const message = types.isNativeError(error) ? Object.getOwnPropertyDescriptor(error, "message")?.value : undefined;
  return typeof message === "string" ? message.slice(0, 1_000) : "an error";
}

self.onmessage = ({ data }) => {
  if (typeof data === "string") side.receive({ text: data, blocks: [] });
  else side.receive({ text: data[0] as string, blocks: (data as unknown[]).slice(1) as Uint8Array[] });
};

/** `<pid>/task/<tid>`: the kernel's name of this thread, by which the host reads its CPU time. */
const thread = readlinkSync("/proc/thread-self");
self.postMessage({ ready: thread.slice(thread.lastIndexOf("/") + 1) });
