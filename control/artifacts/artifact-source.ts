// Fetching an artifact from where a manifest says it is, under the rules that the contract sets for it.
//
//   A1. Only https, to public addresses or to origins that the operator allowed; the host's own credential goes to its
//       exact origin and nowhere else, the caller's goes nowhere (WB-25 … WB-29).
//   A2. The only answer that counts is a 200 without a content coding; no redirect is followed (WB-29, WB-30, WB-32).
//   A3. Everything has a time limit, also a source that sends for ever without stopping (WB-33).
import type { Clock } from "../../base/clock.ts";
import { AtollError } from "../../base/errors.ts";
import { isPlainHttpsUrl } from "../../base/ids.ts";
import { EgressPolicy } from "../../runtime/egress/egress-policy.ts";
import type { HttpResponse } from "../../runtime/egress/exchange.ts";
import { declaredLength, type HeaderList, valuesOf } from "../../runtime/egress/http-headers.ts";
import type { Resolver } from "../../runtime/egress/resolver.ts";
import { VettedFetch } from "../../runtime/egress/vetted-fetch.ts";

/** An origin that the operator allows although it is private, or for which the host holds a credential. */
export interface AllowedOrigin {
  /** Exact, such as `https://artifacts.internal:8443`. */
  readonly origin: string;
  /** Value of the Authorization field for this origin. */
  readonly authorization?: string | undefined;
}

export interface ArtifactSourceOptions {
  readonly clock: Clock;
  readonly resolver: Resolver;
  readonly allowOrigins: readonly AllowedOrigin[];
  /** Certificate authorities in PEM that are trusted beside the public ones. */
  readonly extraCaPem?: readonly string[];
  /** For one artifact from the first look-up to the last byte. Default 5 min. */
  readonly totalMs?: number;
  /** For the head of the answer, and between two chunks of it. Default 30 s. */
  readonly idleMs?: number;
}

export class ArtifactSource {
  readonly #clock: Clock;
  readonly #http: VettedFetch;
  readonly #authorizations: ReadonlyMap<string, string>;
  readonly #totalMs: number;

  /** Throws `invalid_request` for a malformed origin. */
  constructor(options: ArtifactSourceOptions) {
    const { clock, resolver, allowOrigins, extraCaPem = [], totalMs = 300_000, idleMs = 30_000 } = options;
    const policy = new EgressPolicy(allowOrigins.map(({ origin }) => origin));
    this.#clock = clock;
    this.#http = new VettedFetch({ clock, resolver, policy, extraCaPem, headersMs: idleMs, idleMs });
    this.#authorizations = new Map(
      allowOrigins.flatMap(({ origin, authorization }) =>
        authorization === undefined ? [] : [[new URL(origin).origin, authorization] as const],
      ),
    );
    this.#totalMs = totalMs;
  }

  /**
   * Hand the body of the artifact at `url` to `take` while it arrives; what is not read of it is given up when `take`
   * settles. Rejects with `artifact_unreachable`, `artifact_policy_refused` or, when the source announces more than
   * `bytesMax` bytes, `artifact_limit_exceeded`; the messages name no URL. What `take` rejects with passes, unless the
   * source was the cause.
   */
  async fetch<T>(url: string, bytesMax: number, take: (body: ReadableStream<Uint8Array>) => Promise<T>): Promise<T> {
    if (!isPlainHttpsUrl(url)) throw refused("An artifact comes from a plain https URL.");
    const limit = new AbortController();
    const cancelLimit = this.#clock.after(this.#totalMs, () => limit.abort(unreachable("The source took too long.")));
    try {
      const response = await this.#http.fetch(
        { method: "GET", url: new URL(url), headers: this.#headersFor(url), body: null },
        limit.signal,
      );
      try {
        return await take(acceptable(response, bytesMax));
      } finally {
        // Does nothing after the last byte; before it, closes the connection.
        if (response.body?.locked === false) response.body.cancel().catch(() => {});
      }
    } catch (error) {
      throw asArtifactError(error);
    } finally {
      cancelLimit();
    }
  }

  #headersFor(url: string): HeaderList {
    const authorization = this.#authorizations.get(new URL(url).origin);
    return [
      ["accept", "*/*"],
      ["accept-encoding", "identity"],
      ["user-agent", "Atoll"],
      ...(authorization === undefined ? [] : [["authorization", authorization] as const]),
    ];
  }
}

/** The body of an answer that counts (A2); throws for every other one. */
function acceptable(response: HttpResponse, bytesMax: number): ReadableStream<Uint8Array> {
  const { status, headers, body } = response;
  if (status >= 300 && status < 400) throw refused("The source redirects, and no redirect is followed for artifacts.");
  if (status !== 200 || body === null) throw unreachable(`The source answers with status ${status} instead of 200.`);
  const codings = valuesOf(headers, "content-encoding").flatMap((value) => value.split(","));
  if (codings.some((coding) => !["", "identity"].includes(coding.trim().toLowerCase()))) {
    throw refused("The source sends the content in a coding, although none was asked for.");
  }
  if ((declaredLength(headers) ?? 0) > bytesMax) {
    throw new AtollError("artifact_limit_exceeded", `The content is larger than ${bytesMax} bytes.`);
  }
  return body;
}

function asArtifactError(error: unknown): unknown {
  if (!(error instanceof AtollError)) return error;
  if (error.code === "egress_refused") return refused("The host's policy does not allow this source.");
  return error.code === "backend_unavailable" ? unreachable(error.message, error) : error;
}

function refused(message: string): AtollError {
  return new AtollError("artifact_policy_refused", message);
}

function unreachable(message: string, cause?: unknown): AtollError {
  return new AtollError("artifact_unreachable", message, { cause });
}
