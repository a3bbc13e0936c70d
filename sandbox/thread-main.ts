// Entry of a cell that is a worker thread. Nothing but this file knows that the channel is a MessagePort.
import { readlinkSync } from "node:fs";
import { openCellSide } from "./cell-entry.ts";

declare const self: {
  onmessage: ((event: MessageEvent) => void) | null;
  postMessage(message: unknown, transfer?: ArrayBufferLike[]): void;
};

const side = openCellSide({
  send: ({ text, blocks }) => {
    if (blocks.length === 0) self.postMessage(text);
    else
      self.postMessage(
        [text, ...blocks],
        blocks.map((block) => block.buffer),
      );
  },
});

self.onmessage = ({ data }) => {
  if (typeof data === "string") side.receive({ text: data, blocks: [] });
  else side.receive({ text: data[0] as string, blocks: (data as unknown[]).slice(1) as Uint8Array[] });
};

/** `<pid>/task/<tid>`: the kernel's name of this thread, by which the host reads its CPU time. */
const thread = readlinkSync("/proc/thread-self");
self.postMessage({ ready: thread.slice(thread.lastIndexOf("/") + 1) });
