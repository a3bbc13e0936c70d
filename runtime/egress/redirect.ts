// What a redirect makes of a request, as the Fetch standard has it (HTTP-redirect fetch).
import { AtollError } from "../../base/errors.ts";
import type { HttpRequest, HttpResponse } from "./exchange.ts";
import { valuesOf, without } from "./http-headers.ts";

const REDIRECT_STATUS = new Set([301, 302, 303, 307, 308]);
/** Fields that describe a body, gone with it. */
const OF_THE_BODY = new Set([
  "content-encoding",
  "content-language",
  "content-length",
  "content-location",
  "content-type",
]);
/** Fields that are meant for one origin and never reach another. */
const OF_THE_ORIGIN = new Set(["authorization", "cookie", "host", "proxy-authorization"]);

export function isRedirect(response: Pick<HttpResponse, "status">): boolean {
  return REDIRECT_STATUS.has(response.status);
}

/**
 * The request that follows `sent` after the redirect `response`; null when it names no location and so is an answer
 * like any other. Throws AtollError `backend_unavailable` when the location is no URL, or when the body would have to
 * be sent a second time and is a stream that is used up.
 */
export function redirected(sent: HttpRequest, response: Pick<HttpResponse, "status" | "headers">): HttpRequest | null {
  const locations = new Set(valuesOf(response.headers, "location"));
  const [location] = locations;
  if (location === undefined) return null;
  // Servers mean UTF-8; the bytes arrived as one character each.
  const url = locations.size > 1 ? null : URL.parse(Buffer.from(location, "latin1").toString(), sent.url.href);
  if (url === null) throw new AtollError("backend_unavailable", "The server redirects to something that is no URL.");

  const { status } = response;
  const becomesGet =
    status === 303 ? sent.method !== "GET" && sent.method !== "HEAD" : status <= 302 && sent.method === "POST";
  if (!becomesGet && sent.body instanceof ReadableStream) {
    throw new AtollError("backend_unavailable", "The server redirects a request whose body is a stream.", {
      hint: "Send the body as bytes, so that it can be sent again, or handle the redirect with redirect: 'manual'.",
    });
  }
  const kept = becomesGet ? without(sent.headers, OF_THE_BODY) : sent.headers;
  return {
    ...sent,
    method: becomesGet ? "GET" : sent.method,
    url,
    headers: url.origin === sent.url.origin ? kept : without(kept, OF_THE_ORIGIN),
    body: becomesGet ? null : sent.body,
  };
}
