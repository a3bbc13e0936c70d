// The outbound `fetch` of tenant code (MW-69): what the Fetch standard does on top of one exchange.
//
//   T1. Every hop of a redirect is vetted like the first request, so a public server cannot send the host inside.
//   T2. What was meant for one origin (Authorization, Cookie) never reaches another through a redirect.
//   T3. Nothing of the host's own goes out: the request carries what the tenant gave, and defaults that tell nothing.
import { AtollError } from "../../base/errors.ts";
import { ACCEPT_ENCODING, decoded } from "./content-coding.ts";
import type { HttpRequest, HttpResponse, RequestBody } from "./exchange.ts";
import { type HeaderList, valuesOf } from "./http-headers.ts";
import { isRedirect, redirected } from "./redirect.ts";
import type { VettedFetch } from "./vetted-fetch.ts";

export interface OutboundRequest {
  readonly method: string;
  /** Absolute, http or https. */
  readonly url: string;
  readonly headers: HeaderList;
  readonly body: RequestBody;
  readonly redirect: "follow" | "manual" | "error";
  /** `manual` leaves the content coded and asks for no coding on its own. Default `decode`. */
  readonly contentCoding?: "decode" | "manual";
  /** Whose connections these are: each party has a bound of its own. */
  readonly party?: string;
}

export interface OutboundResponse {
  readonly status: number;
  readonly statusText: string;
  /** Names in lower case; a repeated field stays repeated. */
  readonly headers: [string, string][];
  /** Where the answer came from, without a fragment. */
  readonly url: string;
  readonly redirected: boolean;
  /** Null where HTTP has no body. Has to be read to its end or cancelled, else it keeps its connection. */
  readonly body: ReadableStream<Uint8Array> | null;
}

const HOPS_MAX = 20;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const NORMALISED_METHODS = new Set(["DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT"]);
const FORBIDDEN_METHODS = new Set(["CONNECT", "TRACE", "TRACK"]);

export class TenantFetch {
  readonly #http: VettedFetch;

  constructor(http: VettedFetch) {
    this.#http = http;
  }

  /**
   * Rejects with AtollError: `egress_refused` when the policy admits no address of a destination, `invalid_request`
   * when the request is malformed, `backend_unavailable` for every network failure (what Fetch calls a network error);
   * or with the reason of `signal`, or the error of the request body's source. A request body that is a stream is
   * read to its end or cancelled.
   */
  async fetch(request: OutboundRequest, signal: AbortSignal): Promise<OutboundResponse> {
    let next: HttpRequest;
    try {
      next = firstRequest(request);
    } catch (error) {
      if (request.body instanceof ReadableStream) request.body.cancel(error).catch(() => {});
      throw error;
    }
    for (let hops = 0; ; hops++) {
      const response = await this.#http.fetch(next, signal);
      try {
        const followed = this.#follow(request, next, response, hops);
        if (followed === null) return answer(request, next, response, hops);
        next = followed;
      } catch (error) {
        dispose(response);
        throw error;
      }
      dispose(response);
    }
  }

  /** The next hop, or null when `response` is the answer. */
  #follow(request: OutboundRequest, sent: HttpRequest, response: HttpResponse, hops: number): HttpRequest | null {
    if (!isRedirect(response) || request.redirect === "manual") return null;
    if (request.redirect === "error") {
      throw new AtollError("backend_unavailable", "The server redirects, and the request says redirect: 'error'.");
    }
    const followed = redirected(sent, response);
    if (followed !== null && hops >= HOPS_MAX) {
      throw new AtollError("backend_unavailable", `The server redirects more than ${HOPS_MAX} times.`);
    }
    return followed;
  }
}

function firstRequest(request: OutboundRequest): HttpRequest {
  const url = URL.parse(request.url);
  if (url === null) throw new AtollError("invalid_request", "The URL to fetch is not an absolute URL.");
  if (url.username !== "" || url.password !== "") {
    throw new AtollError("invalid_request", "The URL to fetch must not contain credentials.");
  }
  const upper = request.method.toUpperCase();
  const method = NORMALISED_METHODS.has(upper) ? upper : request.method;
  if (!TOKEN.test(method) || FORBIDDEN_METHODS.has(upper)) {
    throw new AtollError("invalid_request", "This method cannot be used with fetch.");
  }
  if (request.body !== null && (method === "GET" || method === "HEAD")) {
    throw new AtollError("invalid_request", "A GET or HEAD request has no body.");
  }
  const headers = withDefaults(request);
  const party = request.party;
  return { method, url, headers, body: request.body, ...(party === undefined ? {} : { party }) };
}

function withDefaults(request: OutboundRequest): HeaderList {
  const defaults: [string, string][] = [
    ["accept", "*/*"],
    ["user-agent", "Atoll"],
  ];
  // A range of coded bytes could not be decoded.
  const wantsPlain = request.contentCoding === "manual" || valuesOf(request.headers, "range").length > 0;
  defaults.push(["accept-encoding", wantsPlain ? "identity" : ACCEPT_ENCODING]);
  return [...request.headers, ...defaults.filter(([name]) => valuesOf(request.headers, name).length === 0)];
}

function answer(request: OutboundRequest, sent: HttpRequest, response: HttpResponse, hops: number): OutboundResponse {
  const { status, statusText } = response;
  // What a Response cannot express is no answer.
  if (status < 200 || status > 599) {
    throw new AtollError("backend_unavailable", "The server's answer has a status outside of 200 to 599.");
  }
  const { headers, body } = request.contentCoding === "manual" ? response : decoded(response);
  const url = new URL(sent.url);
  url.hash = "";
  return { status, statusText, headers, url: url.href, redirected: hops > 0, body };
}

function dispose(response: HttpResponse): void {
  response.body?.cancel().catch(() => {});
}
