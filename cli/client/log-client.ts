// Log entries of a node, over however many connections it takes.
//
//   C1. After a break the stream goes on behind the last entry that arrived: nothing twice, and nothing missing without
//       a word about it.
//   C2. A refusal ends it; only what may pass by itself is tried again.
import type { Clock } from "../../base/clock.ts";
import { z } from "zod";
import { ApiError, UnreachableError } from "./api-error.ts";
import { serverEvents } from "./event-stream.ts";
import { readProblem } from "./host-types.ts";
import type { NodeLocation } from "./node-location.ts";
import type { Transport } from "./transport.ts";

const PATH = "/operator/v1/logs";

const common = {
  time: z.string(),
  level: z.enum(["debug", "info", "warn", "error"]),
  space: z.string(),
  worker: z.string(),
  workerUid: z.string(),
  version: z.string(),
  versionUid: z.string(),
  invocation: z.string().nullable(),
};
const RecordSchema = z.discriminatedUnion("kind", [
  z.object({ ...common, kind: z.enum(["console", "error"]), message: z.string() }),
  z.object({
    ...common,
    kind: z.literal("request"),
    method: z.string(),
    path: z.string(),
    status: z.int(),
    durationMs: z.number(),
    outcome: z.string(),
  }),
]);
export type LogRecord = z.output<typeof RecordSchema>;

export type LogEvent =
  | { readonly type: "entry"; readonly record: LogRecord }
  /** So many entries were let go, because this client was too slow for them. */
  | { readonly type: "dropped"; readonly count: number }
  /** Some entries before this point are gone. */
  | { readonly type: "gap"; readonly reason: string }
  /** The connection broke; it is being made again. */
  | { readonly type: "broken"; readonly why: string };

export interface LogRequest {
  /** Parameters of the operator API, apart from `follow`. */
  readonly query: Readonly<Record<string, string>>;
  readonly follow: boolean;
}

const RETRY_MS_FIRST = 500;
const RETRY_MS_MAX = 5_000;
/** Without `--follow` a break is tried again so many times. */
const RETRIES_MAX = 5;

export class LogClient {
  readonly #transport: Transport;
  readonly #location: NodeLocation;
  readonly #clock: Clock;

  constructor(transport: Transport, location: NodeLocation, clock: Clock) {
    this.#transport = transport;
    this.#location = location;
    this.#clock = clock;
  }

  /** Until the end of what is kept, or, with `follow`, for as long as the caller iterates. Rejects with ApiError (C2). */
  async *events(request: LogRequest): AsyncGenerator<LogEvent, void> {
    const cursor: Cursor = { lastId: null };
    for (let failures = 0; ; failures++) {
      const before = cursor.lastId;
      const why = yield* this.#connection(request, cursor);
      if (why === null) return;
      if (cursor.lastId !== before) failures = 0;
      if (!request.follow && failures >= RETRIES_MAX) {
        throw new UnreachableError(`the node does not answer: ${why}`, "check that it is running, then try again");
      }
      if (failures === 0) yield { type: "broken", why };
      const pauseMs = Math.min(RETRY_MS_FIRST * 2 ** failures, RETRY_MS_MAX);
      await new Promise<void>((resolve) => void this.#clock.after(pauseMs, resolve));
    }
  }

  /** Returns why it broke; null when there is nothing more to come. */
  async *#connection({ query, follow }: LogRequest, cursor: Cursor): AsyncGenerator<LogEvent, string | null> {
    const life = new AbortController();
    try {
      const response = await this.#open(query, follow, cursor.lastId, life.signal);
      if (response.body === null || !response.ok) return await this.#refusal(response);
      const events = serverEvents(response.body, (id) => {
        cursor.lastId = id;
      });
      for await (const { name, data } of events) {
        if (name === "end") return endOf(data);
        const event = eventOf(name, data);
        if (event !== null) yield event;
      }
      return "the connection ended";
    } catch (error) {
      if (error instanceof ApiError) throw error;
      return error instanceof Error ? error.message : "the connection failed";
    } finally {
      life.abort();
    }
  }

  async #open(
    query: Readonly<Record<string, string>>,
    follow: boolean,
    lastId: string | null,
    signal: AbortSignal,
  ): Promise<Response> {
    const { origin, token } = this.#location;
    const parameters = new URLSearchParams({ ...query, follow: String(follow) });
    const headers = { accept: "text/event-stream", ...(lastId === null ? {} : { "last-event-id": lastId }) };
    const url = `${origin}${PATH}?${parameters.toString()}`;
    return await this.#transport.open({ method: "GET", url, token, headers }, signal);
  }

  /** Why it may be tried again. Throws what stays refused (C2). */
  async #refusal(response: Response): Promise<string> {
    const problem = readProblem(await response.json().catch(() => null));
    if (problem !== null && problem.status < 500 && problem.status !== 429) throw ApiError.ofProblem(problem);
    return problem?.detail ?? problem?.title ?? `status ${response.status}`;
  }
}

interface Cursor {
  lastId: string | null;
}

function endOf(data: string): string | null {
  const { reason } = read(z.object({ reason: z.string() }), data);
  if (reason === "complete") return null;
  if (reason === "unauthenticated") throw new ApiError("unauthenticated", "the token is no longer valid");
  return "the node stops";
}

/** Null for what a newer node says and this client does not know. */
function eventOf(name: string, data: string): LogEvent | null {
  switch (name) {
    case "log":
      return { type: "entry", record: read(RecordSchema, data) };
    case "dropped":
      return { type: "dropped", count: read(z.object({ count: z.int() }), data).count };
    case "gap":
      return { type: "gap", reason: read(z.object({ reason: z.string() }), data).reason };
    default:
      return null;
  }
}

function read<Schema extends z.ZodType>(schema: Schema, data: string): z.output<Schema> {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    value = undefined;
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new ApiError("invalid_answer", "the node's log stream is not what its operator API defines", {
    hint: "check that this atoll and the node are of versions that fit",
  });
}
