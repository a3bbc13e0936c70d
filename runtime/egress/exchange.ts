// One HTTP/1.1 request and its response over one connected socket.
import { type ClientRequest, type IncomingMessage, request as httpRequest } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../../base/clock.ts";
import { AtollError } from "../../base/errors.ts";
import { declaredLength, endToEnd, type HeaderList, without } from "./http-headers.ts";
import { IdleTimer } from "./idle-timer.ts";
import { responseBody, sendBody } from "./message-body.ts";
import { networkFault } from "./network-fault.ts";

export type RequestBody = ReadableStream<Uint8Array> | Uint8Array | null;

export interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  /** End-to-end fields. Host, lengths and the fields of the connection are made here. */
  readonly headers: HeaderList;
  readonly body: RequestBody;
  /** Whose connection it is; undefined for the host's own. */
  readonly party?: string;
}

export interface HttpResponse {
  readonly status: number;
  readonly statusText: string;
  /** Names in lower case; a repeated field stays repeated. */
  readonly headers: [string, string][];
  /** The bytes after transfer framing and before any content decoding; null where HTTP has no body (HEAD, 204, …). */
  readonly body: ReadableStream<Uint8Array> | null;
}

export interface ExchangeLimits {
  /** From the last byte sent to the head of the response. */
  readonly headersMs: number;
  /** Between two chunks of the response, while somebody waits for one. */
  readonly idleMs: number;
}

const HEAD_BYTES_MAX = 64 * 1024;
/** Fields that this module makes itself, or that only a party to the connection may send. */
const MADE_HERE = new Set(["host", "content-length", "expect"]);
/** Methods whose empty body is said aloud (RFC 9110, 8.6). */
const METHODS_WITH_CONTENT = new Set(["POST", "PUT", "PATCH"]);
const NULL_BODY_STATUS = new Set([204, 205, 304]);

/**
 * Send `request` over `socket`, which belongs to the exchange from now on. `life` ends it at any instant with its
 * reason; a failing source of the request body ends it through `life` too. `finished` is called once when the socket
 * is no longer needed and has been destroyed. Rejects with `backend_unavailable` or the reason of `life`.
 */
export async function exchange(
  socket: Socket,
  request: HttpRequest,
  limits: ExchangeLimits,
  clock: Clock,
  life: AbortController,
  finished: () => void,
): Promise<HttpResponse> {
  const late = (what: string) => () => life.abort(new AtollError("backend_unavailable", what));
  const headTimer = new IdleTimer(clock, limits.headersMs, late("The server did not answer in time."));
  const finish = (): void => {
    headTimer.stop();
    socket.destroy();
    finished();
  };
  life.signal.addEventListener("abort", finish, { once: true });
  const end = (): void => {
    life.signal.removeEventListener("abort", finish);
    finish();
  };
  try {
    life.signal.throwIfAborted();
    headTimer.start();
    const client = open(socket, request);
    sendAll(client, request, life, () => headTimer.touch());
    const message = await head(client, life.signal);
    headTimer.stop();
    const idle = new IdleTimer(clock, limits.idleMs, late("The response stopped before it was complete."));
    const hasBody = request.method !== "HEAD" && !NULL_BODY_STATUS.has(message.statusCode ?? 0);
    const body = hasBody ? responseBody(message, idle, life.signal, end) : null;
    if (body === null) end();
    return {
      status: message.statusCode ?? 0,
      statusText: message.statusMessage ?? "",
      headers: endToEnd(pairs(message.rawHeaders)),
      body,
    };
  } catch (error) {
    end();
    if (life.signal.aborted) throw life.signal.reason;
    throw networkFault(error);
  }
}

function open(socket: Socket, request: HttpRequest): ClientRequest {
  const { method, url, body } = request;
  const headers = ["host", url.host, "connection", "close"];
  for (const [name, value] of without(endToEnd(request.headers), MADE_HERE)) headers.push(name, value);
  const length = lengthOf(request);
  if (length !== null) headers.push("content-length", String(length));
  else if (body !== null) headers.push("transfer-encoding", "chunked");
  return httpRequest({
    createConnection: () => socket,
    method,
    path: url.pathname + url.search,
    headers,
    setHost: false,
    maxHeaderSize: HEAD_BYTES_MAX,
  });
}

function sendAll(client: ClientRequest, request: HttpRequest, life: AbortController, sent: () => void): void {
  const { body } = request;
  if (body === null) client.end();
  else if (body instanceof Uint8Array) client.end(body);
  else sendBody(client, body, lengthOf(request), sent).catch((error: unknown) => life.abort(error));
}

/** The first final response. Nothing that happens to the request after it is an error of its own. */
async function head(client: ClientRequest, life: AbortSignal): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const onAbort = (): void => reject(life.reason);
  life.addEventListener("abort", onAbort);
  client.on("response", (message) => {
    message.on("error", () => {}); // told to the reader of the body
    resolve(message);
  });
  client.on("upgrade", (_message, upgraded) => {
    upgraded.destroy();
    reject(new Error("the server switched protocols without being asked"));
  });
  client.on("error", reject);
  client.on("close", () => reject(new Error("the connection closed without a response")));
  try {
    return await promise;
  } finally {
    life.removeEventListener("abort", onAbort);
  }
}

/** The length of the request body, null where it is not known before it is sent. */
function lengthOf(request: HttpRequest): number | null {
  if (request.body === null) return METHODS_WITH_CONTENT.has(request.method) ? 0 : null;
  return request.body instanceof Uint8Array ? request.body.byteLength : declaredLength(request.headers);
}

function pairs(raw: readonly string[]): [string, string][] {
  const list: [string, string][] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) list.push([raw[i] ?? "", raw[i + 1] ?? ""]);
  return list;
}
