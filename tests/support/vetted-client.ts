import { SystemClock } from "../../base/clock.ts";
import { EgressPolicy } from "../../runtime/egress/egress-policy.ts";
import type { HttpRequest } from "../../runtime/egress/exchange.ts";
import type { Resolver } from "../../runtime/egress/resolver.ts";
import { VettedFetch, type VettedFetchOptions } from "../../runtime/egress/vetted-fetch.ts";

export const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
export const never: AbortSignal = new AbortController().signal;

/** Names resolve as the test says, one answer after the other; the last one stays. `asked` is what was asked for. */
export function scripted(...answers: string[][]): Resolver & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    resolve: async (hostname) => {
      const answer = answers[Math.min(asked.length, answers.length - 1)] ?? [];
      asked.push(hostname);
      return answer;
    },
  };
}

/** A client for which every name is 127.0.0.1, and that may connect there. */
export function client(more: Partial<VettedFetchOptions> & { readonly allow?: string[] } = {}): VettedFetch {
  return new VettedFetch({
    clock: new SystemClock(),
    resolver: scripted(["127.0.0.1"]),
    policy: new EgressPolicy(more.allow ?? ["127.0.0.1"]),
    ...more,
  });
}

export function get(url: string, more: Partial<HttpRequest> = {}): HttpRequest {
  return { method: "GET", url: new URL(url), headers: [], body: null, ...more };
}

export async function textOf(body: ReadableStream<Uint8Array> | null): Promise<string> {
  return await new Response(body).text();
}
