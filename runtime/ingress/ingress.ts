// Tenant traffic: host name → Worker → Version → handler. The shortest path from the listener to a cell; nothing here
// authenticates or parses more than it must.
import type { Clock } from "../../base/clock.ts";
import { AtollError } from "../../base/errors.ts";
import type { ResourceUid } from "../../base/ids.ts";
import {
  type CellResponse,
  CellStopped,
  HandlerFailed,
  type RequestBody,
  type RequestHead,
  type Running,
} from "../../sandbox/cell.ts";
import type { RequestOutcome } from "../logs/log-entry.ts";
import { flatten, responseHeaders } from "../workers/flat-headers.ts";
import { statusOfFailure, type Trace, type Workers } from "../workers/workers.ts";
import { AbortWatch, type Waiting } from "./abort-watch.ts";

/** Bodies that Bun has at hand when the head arrives and that are small enough travel with the head. */
const INLINE_BYTES_MAX = 16 * 1024;

/** Sees every request that reached a Worker, once, when its answer's head is there. Must be quick and must not throw. */
export interface RequestWatch {
  /**
   * @param path without the query
   * @param durationMs from the arrival of the head
   */
  answered(
    trace: Trace,
    workerUid: ResourceUid,
    method: string,
    path: string,
    status: number,
    durationMs: number,
    outcome: RequestOutcome,
  ): void;
}

export class Ingress {
  readonly #workers: Workers;
  readonly #endpointSuffix: string;
  readonly #aborts: AbortWatch;
  readonly #clock: Clock;
  readonly #watch: RequestWatch;

  /** @param endpointDomain names below it that are nobody's are answered here and never by an API. */
  constructor(workers: Workers, endpointDomain: string, clock: Clock, watch: RequestWatch) {
    this.#workers = workers;
    this.#clock = clock;
    this.#watch = watch;
    this.#aborts = new AbortWatch(clock);
    this.#endpointSuffix = `.${endpointDomain}`;
  }

  /**
   * Answer a request that is addressed to a Worker; null when its host name belongs to no Worker and may be the
   * node's own.
   */
  handle(request: Request): Promise<Response> | Response | null {
    const host = request.headers.get("host") ?? "";
    const hostname = hostnameOf(host);
    const workerUid = this.#workers.workerAt(hostname);
    if (workerUid === null) {
      return hostname.endsWith(this.#endpointSuffix) ? plain(404, "There is no Worker at this address.") : null;
    }
    const tls = request.url.startsWith("https:");
    // Over plain HTTP the Worker sees what it would see at its address.
    return this.#serve(request, workerUid, `https://${tls ? host.toLowerCase() : hostname}`);
  }

  /**
   * Answer a request with the Worker at `hostname`, whatever host name the request names; null when there is none. The
   * Worker sees the origin that the client asked.
   */
  handleAs(request: Request, hostname: string): Promise<Response> | Response | null {
    const workerUid = this.#workers.workerAt(hostname);
    if (workerUid === null) return null;
    return this.#serve(request, workerUid, request.url.slice(0, request.url.indexOf("/", 8)));
  }

  #serve(request: Request, workerUid: ResourceUid, origin: string): Promise<Response> | Response {
    const { url, method } = request;
    // It asks for a tunnel and has no path; no Worker can answer that.
    if (method === "CONNECT") return plain(501, "CONNECT is not supported.");
    const path = url.slice(url.indexOf("/", 8));
    const head: RequestHead = { method, url: `${origin}${path}`, headers: flatten(request.headers) };
    const body = bodyOf(request);
    if (!(body instanceof Promise)) return this.#run(request, workerUid, head, body);
    return body.then((arrived) => this.#run(request, workerUid, head, arrived));
  }

  async #run(request: Request, workerUid: ResourceUid, head: RequestHead, body: RequestBody): Promise<Response> {
    const startedMs = this.#clock.monotonicMs();
    const trace: Trace = { version: null, cell: 0, id: 0 };
    const visit = new Visit(request);
    this.#aborts.add(visit);
    try {
      const started = this.#workers.fetch(workerUid, head, body, null, trace);
      const running = started instanceof Promise ? await started : started;
      visit.attend(running);
      const response = toResponse(await running.result, head.method === "HEAD");
      this.#answered(trace, workerUid, head, response.status, startedMs, "ok");
      return response;
    } catch (error) {
      const response = failure(error);
      this.#answered(trace, workerUid, head, response.status, startedMs, visit.gone ? "canceled" : outcomeOf(error));
      return response;
    } finally {
      this.#aborts.delete(visit);
    }
  }

  #answered(
    trace: Trace,
    workerUid: ResourceUid,
    { method, url }: RequestHead,
    status: number,
    startedMs: number,
    outcome: RequestOutcome,
  ): void {
    const durationMs = this.#clock.monotonicMs() - startedMs;
    this.#watch.answered(trace, workerUid, method, pathOf(url), status, durationMs, outcome);
  }
}

/** A request that waits for its answer, and the event that it became as soon as there is one. */
class Visit implements Waiting {
  readonly request: Request;
  /** The client went away. */
  gone = false;
  #running: Running<CellResponse> | null = null;

  constructor(request: Request) {
    this.request = request;
  }

  attend(running: Running<CellResponse>): void {
    this.#running = running;
    if (this.gone) running.abort();
  }

  abort(): void {
    this.gone = true;
    this.#running?.abort();
  }
}

/** Host name in lower case, without port; IPv6 literals keep their brackets. With no legal port it is nobody's name. */
export function hostnameOf(host: string): string {
  const lower = host.toLowerCase();
  const colon = lower.lastIndexOf(":");
  const hasPort = colon > 0 && lower.indexOf("]", colon) < 0;
  if (hasPort && !isPort(lower.slice(colon + 1))) return lower;
  const bare = hasPort ? lower.slice(0, colon) : lower;
  return bare.endsWith(".") ? bare.slice(0, -1) : bare;
}

function isPort(text: string): boolean {
  return text === "" || (/^\d{1,5}$/.test(text) && Number(text) <= 65_535);
}

/**
 * The body as a cell takes it: whole when it is small, as a stream otherwise. A handler never waits for a body (MW-47):
 * a small one that is not there within a turn of the event loop becomes a stream, too, which brings it in one piece.
 */
function bodyOf(request: Request): RequestBody | Promise<RequestBody> {
  const declared = request.headers.get("content-length");
  if (declared === null || request.method === "GET" || request.method === "HEAD") return request.body;
  const bytes = Number(declared);
  if (bytes === 0) return null;
  // A stream of the server costs more than all the rest of a small request.
  return bytes <= INLINE_BYTES_MAX ? arrived(request.bytes()) : request.body;
}

function arrived(whole: Promise<Uint8Array>): Promise<RequestBody> {
  return new Promise((resolve) => {
    let isThere = false;
    whole.then(
      (bytes) => {
        isThere = true;
        resolve(bytes);
      },
      () => {}, // whoever reads the stream is told
    );
    setImmediate(() => {
      if (!isThere) resolve(streamOf(whole));
    });
  });
}

/** Of an absolute URL, without query and fragment. */
function pathOf(url: string): string {
  const from = url.indexOf("/", 8);
  const query = url.indexOf("?", from);
  return query < 0 ? url.slice(from) : url.slice(from, query);
}

function outcomeOf(error: unknown): RequestOutcome {
  if (error instanceof HandlerFailed) return "exception";
  if (error instanceof CellStopped) {
    switch (error.reason) {
      case "cpu":
        return "cpu_limit";
      case "memory":
        return "memory_limit";
      case "retired":
        return "unavailable";
      case "crashed":
        return "crashed";
    }
  }
  return error instanceof AtollError && error.code === "backend_unavailable" ? "unavailable" : "exception";
}

function toResponse({ status, statusText, headers: flat, body, bodyBytes }: CellResponse, head: boolean): Response {
  const headers = responseHeaders(flat);
  const init = { status, statusText, headers };
  if (status === 204 || status === 205 || status === 304) {
    if (body instanceof ReadableStream) body.cancel().catch(() => {});
    return new Response(null, init);
  }
  if (head && body instanceof ReadableStream) {
    body.cancel().catch(() => {});
    if (bodyBytes === null) return new Response(unknownLength(), init);
    headers.set("content-length", String(bodyBytes));
    return new Response(null, init);
  }
  // The server would say application/octet-stream where the Worker says nothing; of a stream it says nothing either.
  if (body instanceof Uint8Array && !headers.has("content-type")) return new Response(streamOf(body), init);
  return new Response(body as ReadableStream | Uint8Array<ArrayBuffer> | null, init);
}

/** A stream of one piece, which breaks off when the piece never comes. */
function streamOf(piece: Uint8Array | Promise<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream(
    {
      async pull(controller) {
        controller.enqueue(await piece);
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}

/** For HEAD: no body is sent, and that must not be announced as a length of 0. */
function unknownLength(): ReadableStream {
  return new ReadableStream({
    async pull(controller) {
      await Promise.resolve();
      controller.close();
    },
  });
}

const EXPLANATIONS: Record<number, string> = {
  500: "The Worker failed to answer this request.",
  503: "The Worker cannot take requests now.",
  504: "The Worker used up its time for this request.",
};

/** A Host-made answer, free of anything of the tenant's or the host's (MW-48, WE-A5). */
function failure(error: unknown): Response {
  const status = statusOfFailure(error);
  const explanation = EXPLANATIONS[status] ?? "";
  return plain(status, explanation, error instanceof AtollError ? { "retry-after": "1" } : {});
}

function plain(status: number, text: string, headers: Record<string, string> = {}): Response {
  return new Response(`${text}\n`, {
    status,
    headers: { "content-type": "text/plain;charset=utf-8", "cache-control": "no-store", ...headers },
  });
}
