import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { AtollError } from "../../../../base/errors.ts";
import type { HttpRequest } from "../../../../runtime/egress/exchange.ts";
import { redirected } from "../../../../runtime/egress/redirect.ts";

const BODY = new TextEncoder().encode("body");
const SECRETS: [string, string][] = [
  ["Authorization", "Bearer x"],
  ["cookie", "a=1"],
  ["X-Own", "1"],
];
const OF_BODY: [string, string][] = [
  ["Content-Type", "text/plain"],
  ["content-length", "4"],
];

function sent(method: string, more: Partial<HttpRequest> = {}): HttpRequest {
  const url = new URL("https://a.test/dir/page?q");
  return { method, url, headers: [...SECRETS, ...OF_BODY], body: BODY, ...more };
}

const to = (status: number, location?: string) => ({
  status,
  headers: (location === undefined ? [] : [["location", location]]) as [string, string][],
});
const names = (request: HttpRequest | null) => (request?.headers ?? []).map(([name]) => name.toLowerCase());

test.each([
  [301, "POST", "GET", false],
  [302, "POST", "GET", false],
  [303, "POST", "GET", false],
  [303, "PUT", "GET", false],
  [303, "HEAD", "HEAD", true],
  [301, "PUT", "PUT", true],
  [302, "DELETE", "DELETE", true],
  [307, "POST", "POST", true],
  [308, "POST", "POST", true],
  [307, "GET", "GET", true],
])("a %d of %s is followed with %s", (status, method, next, keepsBody) => {
  const request = redirected(sent(method), to(status, "/next"));
  expect(request?.method).toBe(next);
  expect(request?.body).toEqual(keepsBody ? BODY : null);
  expect(names(request).includes("content-type")).toBe(keepsBody);
  expect(names(request).includes("content-length")).toBe(keepsBody);
});

test("T2: only a redirect to the very same origin keeps what was meant for it", () => {
  const secrets = (location: string) => names(redirected(sent("GET", { body: null }), to(302, location)));
  for (const same of ["/x", "?x", "https://a.test/x", "https://a.test:443/x", "//a.test/x"]) {
    expect(secrets(same)).toEqual(expect.arrayContaining(["authorization", "cookie", "x-own"]));
  }
  for (const other of [
    "http://a.test/x",
    "https://a.test:444/x",
    "https://b.a.test/",
    "//b.test/",
    "https://a.test./",
  ]) {
    expect(secrets(other)).not.toContain("authorization");
    expect(secrets(other)).not.toContain("cookie");
    expect(secrets(other)).toContain("x-own");
  }
});

test("T2: whatever chain is followed, a secret reaches no origin but its first one", () => {
  const url = fc.constantFrom("https://a.test/", "https://b.test/", "http://a.test/", "https://a.test:8443/", "/path");
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom(301, 302, 303, 307, 308), url), { maxLength: 8 }), (hops) => {
      let request: HttpRequest = sent("GET", { body: null });
      let left = false;
      for (const [status, location] of hops) {
        const next = redirected(request, to(status, location));
        if (next === null) throw new Error("not followed");
        left ||= next.url.origin !== "https://a.test";
        expect(names(next).includes("authorization")).toBe(!left);
        request = next;
      }
    }),
  );
});

test("locations are read relative to the page, as UTF-8, and their fragment is of no matter", () => {
  const next = (location: string) => redirected(sent("GET", { body: null }), to(302, location))?.url.href;
  expect(next("other")).toBe("https://a.test/dir/other");
  expect(next("../x")).toBe("https://a.test/x");
  expect(next(Buffer.from("/käse").toString("latin1"))).toBe("https://a.test/k%C3%A4se");
});

test("without a location a redirect is an answer; with a bad one, or two, it is an error", () => {
  expect(redirected(sent("GET"), to(302))).toBeNull();
  const two = { status: 302, headers: [...to(302, "/a").headers, ...to(302, "/b").headers] };
  const same = { status: 302, headers: [...to(302, "/a").headers, ...to(302, "/a").headers] };
  expect(() => redirected(sent("GET"), two)).toThrow(AtollError);
  expect(() => redirected(sent("GET"), to(302, "https://a b/"))).toThrow(AtollError);
  expect(redirected(sent("GET"), same)?.url.pathname).toBe("/a");
});

test("a stream cannot be sent twice, but need not be where the method becomes GET", () => {
  const stream = () => sent("POST", { body: new ReadableStream() });
  expect(() => redirected(stream(), to(307, "/x"))).toThrow("body is a stream");
  expect(() => redirected({ ...stream(), method: "PUT" }, to(301, "/x"))).toThrow("body is a stream");
  expect(redirected(stream(), to(303, "/x"))?.body).toBeNull();
  expect(redirected(stream(), to(302, "/x"))?.method).toBe("GET");
});
