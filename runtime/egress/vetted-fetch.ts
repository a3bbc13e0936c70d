// The one HTTP client with which the host connects outward on behalf of others.
//
//   V1. Every address that a name resolves to is judged by the policy, and the connection goes to one that was
//       admitted (WB-26, WB-28). The name is not resolved a second time, so rebinding it changes nothing.
//   V2. The certificate is checked against the name that was asked for (WB-27).
//   V3. It answers what the server answered: no redirect is followed, nothing is decoded or stored (WB-29).
//   V4. Every wait has a bound, and an aborted signal closes the connection at once (WB-33).
import type { Socket } from "node:net";
import { createSecureContext, getCACertificates, type SecureContext } from "node:tls";
import type { Clock } from "../../base/clock.ts";
import { AtollError } from "../../base/errors.ts";
import { type Address, parseAddress } from "./address.ts";
import { ConnectionBudget } from "./connection-budget.ts";
import { dial, secureSocket } from "./dial.ts";
import type { EgressPolicy } from "./egress-policy.ts";
import { exchange, type ExchangeLimits, type HttpRequest, type HttpResponse } from "./exchange.ts";
import { networkFault } from "./network-fault.ts";
import type { Resolver } from "./resolver.ts";
import { hostOf, portOf } from "./url-parts.ts";

export interface VettedFetchOptions {
  readonly clock: Clock;
  readonly resolver: Resolver;
  readonly policy: EgressPolicy;
  /** Certificate authorities in PEM that are trusted beside the public ones. */
  readonly extraCaPem?: readonly string[];
  /** For resolving, connecting and the TLS handshake together. Default 10 s. */
  readonly connectMs?: number;
  /** From the last byte sent to the head of the response. Default 5 min. */
  readonly headersMs?: number;
  /** Between two chunks of the response, while somebody waits for one. Default 5 min. */
  readonly idleMs?: number;
  /** Connections open at one time. Default 2,000. */
  readonly connectionsMax?: number;
  /** Connections open at one time for one `party`. Default 250. */
  readonly partyConnectionsMax?: number;
}

/** Whoever runs a name must not make the host knock at any number of doors. */
const ADDRESSES_MAX = 8;

export class VettedFetch {
  readonly #clock: Clock;
  readonly #resolver: Resolver;
  readonly #policy: EgressPolicy;
  readonly #connectMs: number;
  readonly #limits: ExchangeLimits;
  readonly #budget: ConnectionBudget;
  readonly #extraCaPem: readonly string[];
  #context: SecureContext | null = null;

  constructor(options: VettedFetchOptions) {
    this.#clock = options.clock;
    this.#resolver = options.resolver;
    this.#policy = options.policy;
    this.#connectMs = options.connectMs ?? 10_000;
    this.#limits = { headersMs: options.headersMs ?? 300_000, idleMs: options.idleMs ?? 300_000 };
    this.#budget = new ConnectionBudget({
      totalMax: options.connectionsMax ?? 2000,
      partyMax: options.partyConnectionsMax ?? 250,
    });
    this.#extraCaPem = options.extraCaPem ?? [];
  }

  /**
   * Resolves with the head of the response; the body streams and has to be read to its end or cancelled. Rejects with
   * AtollError `egress_refused` when the policy admits no address of the destination, `backend_unavailable` when the
   * network or the server fails or too many connections are open, `invalid_request` when HTTP cannot carry the
   * request; with the error of the request body's source, or with the reason of `signal`. The request body's stream is
   * cancelled when it is not sent to its end.
   */
  async fetch(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
    const life = new AbortController();
    const onAbort = (): void => life.abort(signal.reason);
    signal.addEventListener("abort", onAbort);
    let giveBack = (): void => {};
    const finished = (): void => {
      signal.removeEventListener("abort", onAbort);
      giveBack();
    };
    try {
      signal.throwIfAborted();
      giveBack = this.#budget.take(request.party);
      const socket = await this.#connect(request.url, life);
      return await exchange(socket, request, this.#limits, this.#clock, life, finished);
    } catch (error) {
      finished();
      if (request.body instanceof ReadableStream && !request.body.locked) request.body.cancel(error).catch(() => {});
      throw error;
    }
  }

  async #connect(url: URL, life: AbortController): Promise<Socket> {
    const cancelLimit = this.#clock.after(this.#connectMs, () =>
      life.abort(new AtollError("backend_unavailable", "The server could not be reached in time.")),
    );
    try {
      const addresses = await this.#vet(url, life.signal);
      const socket = await dial(addresses, portOf(url), this.#clock, life.signal);
      if (url.protocol === "http:") return socket;
      const host = { name: hostOf(url), isAddress: parseAddress(hostOf(url)) !== null };
      return await secureSocket(socket, host, this.#secureContext(), life.signal);
    } catch (error) {
      if (life.signal.aborted) throw life.signal.reason;
      throw networkFault(error);
    } finally {
      cancelLimit();
    }
  }

  /** V1. The admitted addresses of the destination, best first; `egress_refused` when there are none. */
  async #vet(url: URL, signal: AbortSignal): Promise<Address[]> {
    if (url.protocol !== "https:" && url.protocol !== "http:") {
      throw new AtollError("egress_refused", "Only http and https URLs can be fetched.");
    }
    if (!this.#policy.admitsPort(url)) {
      throw new AtollError("egress_refused", "The port of this URL is blocked.");
    }
    const host = hostOf(url);
    const literal = parseAddress(host);
    const found = literal !== null ? [literal] : (await this.#resolve(host, signal)).map(parseAddress);
    if (found.length === 0) throw new AtollError("backend_unavailable", "The host name has no address.");
    const admitted = found.filter((address) => address !== null && this.#policy.admits(url, address));
    if (admitted.length > 0) return admitted.slice(0, ADDRESSES_MAX) as Address[];
    throw new AtollError("egress_refused", "The host does not connect to this destination.", {
      hint: "The operator can allow it in `egress.allow`, or in `artifacts.allowOrigins` for artifacts.",
    });
  }

  async #resolve(hostname: string, signal: AbortSignal): Promise<readonly string[]> {
    // A resolver cannot be interrupted, but nobody has to wait for it.
    const aborted = Promise.withResolvers<never>();
    const onAbort = (): void => aborted.reject(signal.reason);
    signal.addEventListener("abort", onAbort);
    try {
      return await Promise.race([this.#resolver.resolve(hostname), aborted.promise]);
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** Made once: reading the public authorities takes more than a millisecond. */
  #secureContext(): SecureContext {
    this.#context ??= createSecureContext({ ca: [...getCACertificates("default"), ...this.#extraCaPem] });
    return this.#context;
  }
}
