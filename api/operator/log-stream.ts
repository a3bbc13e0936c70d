// A log subscription as server-sent events.
//
//   event: log      id: <run>-<number>   data: the entry
//   event: dropped  data: {"count": n}   the client was too slow for n entries that belong here
//   event: gap      data: {"reason": …}  entries before this point are kept no longer, or went with an earlier run
//   event: end      data: {"reason": …}  nothing more comes: complete, unauthenticated, or stopping
//
// The stream is pulled: a client that does not read costs the bounded queue of its subscription and nothing else.
import { type Clock, rfc3339 } from "../../base/clock.ts";
import type { SpaceName } from "../../base/ids.ts";
import type { Numbered } from "../../runtime/logs/log-ring.ts";
import type { LogSubscription } from "../../runtime/logs/log-subscription.ts";
import { NO_STORE } from "../response.ts";

/** Proxies and clients take a stream for dead that says nothing for longer. */
const HEARTBEAT_MS = 15_000;
/** Entries in one piece of the body. */
const BATCH = 128;
/** What a client waits before it connects again, in milliseconds. */
const RETRY_MS = 1_000;

export interface LogStreamParts {
  readonly subscription: LogSubscription;
  readonly run: string;
  readonly clock: Clock;
  readonly follow: boolean;
  readonly restarted: boolean;
  /** Asked again for every piece, so that a revoked token or grant counts at once; null when the caller is nobody now. */
  mayRead(): ((space: SpaceName) => boolean) | null;
}

export function logStream(parts: LogStreamParts): Response {
  const { subscription } = parts;
  const pieces = piecesOf(parts);
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await pieces.next();
        if (done === true) controller.close();
        else controller.enqueue(new TextEncoder().encode(value));
      },
      cancel: () => subscription.close(),
    },
    { highWaterMark: 0 },
  );
  return new Response(body, {
    headers: { "content-type": "text/event-stream; charset=utf-8", "x-accel-buffering": "no", ...NO_STORE },
  });
}

async function* piecesOf(parts: LogStreamParts): AsyncGenerator<string, void> {
  const { subscription, run, clock, follow, restarted } = parts;
  try {
    // Something at once, so that the client has the head of the answer and knows where to go on if nothing follows.
    yield `retry: ${RETRY_MS}\nid: ${run}-${subscription.startSeq}\n\n`;
    if (restarted) yield event("gap", { reason: "the node was started again" });
    else if (subscription.gap) yield event("gap", { reason: "older entries are kept no longer" });
    while (!subscription.closed) {
      const mayRead = parts.mayRead();
      if (mayRead === null) {
        yield event("end", { reason: "unauthenticated" });
        return;
      }
      const { entries, lost } = subscription.take(BATCH);
      let piece = "";
      for (const numbered of entries) if (mayRead(numbered.entry.space)) piece += logEvent(numbered, run);
      if (lost > 0) piece += event("dropped", { count: lost });
      if (piece !== "") yield piece;
      else if (entries.length === 0) {
        if (!follow) break;
        if (!(await readyWithin(subscription, clock))) yield ": still here\n\n";
      }
    }
    yield event("end", { reason: follow ? "stopping" : "complete" });
  } finally {
    subscription.close();
  }
}

/** False when nothing came within the time of a heartbeat. */
async function readyWithin(subscription: LogSubscription, clock: Clock): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const cancel = clock.after(HEARTBEAT_MS, () => resolve(false));
  void subscription.ready().then(() => resolve(true));
  return await promise.finally(cancel);
}

function logEvent({ seq, entry }: Numbered, run: string): string {
  const { atMs, kind, space, worker, workerUid, version, versionUid, invocation, level } = entry;
  const head = { time: rfc3339(atMs), kind, level, space, worker, workerUid, version, versionUid, invocation };
  const rest =
    entry.kind === "request"
      ? {
          method: entry.method,
          path: entry.path,
          status: entry.status,
          durationMs: Math.round(entry.durationMs * 1_000) / 1_000,
          outcome: entry.outcome,
        }
      : { message: entry.message };
  return `id: ${run}-${seq}\n${event("log", { ...head, ...rest })}`;
}

function event(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
