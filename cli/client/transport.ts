// One HTTP exchange with a node, sorted by what is known to have happened.
import type { Clock } from "../../base/clock.ts";
import { readProblem, type Problem } from "./host-types.ts";

export type Fetch = (url: string, init: RequestInit & { readonly tls?: { readonly ca: string } }) => Promise<Response>;

export interface Call {
  readonly method: "GET" | "HEAD" | "POST" | "PUT" | "DELETE";
  readonly url: string;
  readonly token: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** A JSON value, or raw bytes. */
  readonly body?: { readonly json: unknown } | { readonly bytes: Uint8Array<ArrayBuffer> };
}

export type Answer =
  /** The node did what was asked. `body` is the JSON value, null for none. */
  | { readonly type: "success"; readonly status: number; readonly body: unknown; readonly retryAfterMs: number | null }
  /** The node refused; nothing happened. */
  | { readonly type: "refusal"; readonly problem: Problem; readonly retryAfterMs: number | null }
  /** No answer, a failure of the node, or one of somebody between: it may have happened (HA-150). */
  | { readonly type: "uncertain"; readonly why: string; readonly retryAfterMs: number | null };

/** How long the node may take for the head and the body of one answer, in milliseconds. */
const ANSWER_MS_MAX = 60_000;

export class Transport {
  readonly #fetch: Fetch;
  readonly #clock: Clock;
  readonly #ca: string | null;

  constructor(parts: { readonly fetch: Fetch; readonly clock: Clock; readonly ca: string | null }) {
    this.#fetch = parts.fetch;
    this.#clock = parts.clock;
    this.#ca = parts.ca;
  }

  /** Never rejects. */
  async exchange(call: Call): Promise<Answer> {
    const life = new AbortController();
    const late = this.#clock.after(ANSWER_MS_MAX, () => life.abort(new Error("the node did not answer in time")));
    try {
      const response = await this.#fetch(call.url, this.#init(call, life.signal));
      return sort(call.method, response, await response.text());
    } catch (error) {
      return { type: "uncertain", why: faultText(error), retryAfterMs: null };
    } finally {
      late();
    }
  }

  /** Open a stream: the head of the answer is there, its body is still to come. Rejects when nobody answers. */
  async open(call: Call, signal: AbortSignal): Promise<Response> {
    return await this.#fetch(call.url, this.#init(call, signal));
  }

  #init(call: Call, signal: AbortSignal): RequestInit & { readonly tls?: { readonly ca: string } } {
    const headers = new Headers(call.headers);
    if (call.token !== null) headers.set("authorization", `Bearer ${call.token}`);
    const { body } = call;
    if (body !== undefined)
      headers.set("content-type", "json" in body ? "application/json" : "application/octet-stream");
    return {
      method: call.method,
      headers,
      // A redirect must not take the token to another origin (HA-18), so none is followed.
      redirect: "manual",
      signal,
      ...(body === undefined ? {} : { body: "json" in body ? JSON.stringify(body.json) : body.bytes }),
      ...(this.#ca === null ? {} : { tls: { ca: this.#ca } }),
    };
  }
}

function sort(method: Call["method"], response: Response, text: string): Answer {
  const { status } = response;
  const retryAfterMs = retryAfter(response.headers.get("retry-after"));
  const isJson = /^application\/(?:problem\+)?json\b/.test(response.headers.get("content-type") ?? "");
  const body = isJson ? parse(text) : undefined;
  if (status >= 200 && status < 300) {
    if (text === "") return { type: "success", status, body: null, retryAfterMs };
    if (body !== undefined) return { type: "success", status, body, retryAfterMs };
    return { type: "uncertain", why: "the answer was not JSON", retryAfterMs };
  }
  const problem = readProblem(body) ?? (method === "HEAD" || status < 400 ? bareRefusal(status) : null);
  if (problem === null || status >= 500) {
    return { type: "uncertain", why: `status ${status}${problem === null ? "" : `, ${problem.code}`}`, retryAfterMs };
  }
  return { type: "refusal", problem, retryAfterMs };
}

/** An answer to HEAD has no body to explain itself with, and a redirect is never followed. */
function bareRefusal(status: number): Problem | null {
  if (status < 300 || status >= 500) return null;
  if (status < 400) return { status, code: "redirected", title: "The address redirects; name the node's own address" };
  const code = { 401: "unauthenticated", 403: "forbidden", 404: "not_found" }[status] ?? "invalid_request";
  return { status, code, title: `The node answered with status ${status}` };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** HA-32: a positive number of seconds. */
function retryAfter(header: string | null): number | null {
  return header !== null && /^\d{1,6}$/.test(header) && Number(header) > 0 ? Number(header) * 1_000 : null;
}

function faultText(error: unknown): string {
  const { code } = error as { readonly code?: unknown };
  if (code === "ConnectionRefused" || code === "ECONNREFUSED") return "nobody listens there";
  return error instanceof Error ? error.message : "the connection failed";
}
