// Bodies between the platform's HTTP client and web streams, with backpressure both ways.
import type { ClientRequest, IncomingMessage } from "node:http";
import { AtollError } from "../../base/errors.ts";
import type { IdleTimer } from "./idle-timer.ts";

/**
 * The body of a response as a web stream. Bytes are taken from the connection only while somebody reads, so a slow
 * reader slows the sender. `idle` runs only while a reader waits. `finished` is called once, when no byte will come
 * any more: at the end, on a failure, after a cancellation. Fails with the signal's reason, or `backend_unavailable`.
 */
export function responseBody(
  message: IncomingMessage,
  idle: IdleTimer,
  signal: AbortSignal,
  finished: () => void,
): ReadableStream<Uint8Array> {
  const chunks = message[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  let onAbort = (): void => {};
  const finish = (): void => {
    idle.stop();
    signal.removeEventListener("abort", onAbort);
    finished();
  };
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        onAbort = () => {
          controller.error(signal.reason);
          finish();
        };
        if (signal.aborted) onAbort();
        else signal.addEventListener("abort", onAbort);
      },
      async pull(controller) {
        idle.start();
        const next = await chunks.next().catch(() => null);
        idle.stop();
        if (signal.aborted) return;
        if (next === null) {
          controller.error(new AtollError("backend_unavailable", "The response ended before it was complete."));
          finish();
        } else if (next.done === true) {
          controller.close();
          finish();
        } else {
          controller.enqueue(new Uint8Array(next.value.buffer, next.value.byteOffset, next.value.byteLength));
        }
      },
      cancel() {
        message.destroy();
        finish();
      },
    },
    { highWaterMark: 0 },
  );
}

/**
 * Send `body` as the body of `request`, as fast as the connection takes it. `length` is what Content-Length declared,
 * null when it is chunked. Resolves when the last byte is handed over, or when the request is over before that and
 * nobody wants the rest. Rejects with the error of the source, or `invalid_request` when it is not `length` bytes.
 */
export async function sendBody(
  request: ClientRequest,
  body: ReadableStream<Uint8Array>,
  length: number | null,
  sent: () => void,
): Promise<void> {
  const reader = body.getReader();
  let isOver = false;
  request.once("close", () => {
    isOver = true;
    // Ends a read that is waiting, and tells a source that still has something that nobody takes it.
    reader.cancel().catch(() => {});
  });
  let total = 0;
  try {
    for (;;) {
      const next = await reader.read();
      if (isOver) return;
      if (next.done) break;
      if (!(next.value instanceof Uint8Array)) throw new TypeError("A request body consists of Uint8Array chunks.");
      total += next.value.byteLength;
      if (length !== null && total > length) throw wrongLength(length);
      if (!request.write(next.value)) await drainedOrClosed(request);
      sent();
    }
    if (length !== null && total !== length) throw wrongLength(length);
    request.end();
  } catch (error) {
    reader.cancel(error).catch(() => {});
    throw error;
  }
}

function drainedOrClosed(request: ClientRequest): Promise<void> {
  return new Promise((resolve) => {
    const settle = (): void => {
      request.off("drain", settle);
      request.off("close", settle);
      resolve();
    };
    request.once("drain", settle);
    request.once("close", settle);
  });
}

function wrongLength(length: number): AtollError {
  return new AtollError("invalid_request", `The request body is not the ${length} bytes that Content-Length declares.`);
}
