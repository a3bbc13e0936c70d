// The CLI's client against the real APIs of a control plane in this process: requests are handed over as objects, time
// moves by itself while a call waits, and a test can stand between the two as the network would.
import { silentLogger } from "../../base/log.ts";
import { AtollError } from "../../base/errors.ts";
import type { ResourceUid, Sha256Hex } from "../../base/ids.ts";
import { SeededRandom } from "../../base/random.ts";
import { SteppedClock } from "../../base/stepped-clock.ts";
import { HostClient } from "../../cli/client/host-client.ts";
import type { NodeLocation } from "../../cli/client/node-location.ts";
import { OperatorClient } from "../../cli/client/operator-client.ts";
import type { AcquireRequest, ArtifactAcquirer } from "../../control/artifacts/acquirer.ts";
import type { ArtifactUpload } from "../../control/artifacts/upload.ts";
import { edgeForms } from "../../control/forms/edge-forms.ts";
import { createApi } from "../../api/server.ts";
import { ControlRig, hostConfig } from "./control-rig.ts";
import { FakeRuntime } from "./forms/fake-runtime.ts";

export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  readonly body: string;
  readonly atMs: number;
}

/** What the network does to a request: answer for the node, lose something, or (undefined) nothing. */
export type Network = (sent: Sent, pass: () => Promise<Response>) => Promise<Response> | undefined;

let seeds = 100;

export class CliRig {
  readonly clock = new SteppedClock(Date.UTC(2026, 9, 4, 12));
  readonly artifacts = new HeldArtifacts();
  readonly runtime = new FakeRuntime();
  readonly rig: ControlRig;
  /** Everything that left the client. */
  readonly sent: Sent[] = [];
  network: Network = () => undefined;
  readonly #handle: (request: Request) => Promise<Response>;

  /** `forms`: `publisher` for the two test Forms of a backend, `edge` for the Forms of Workers. */
  constructor(forms: "publisher" | "edge" = "publisher") {
    const { clock, artifacts, runtime } = this;
    this.rig = new ControlRig({
      clock,
      ...(forms === "publisher"
        ? {}
        : {
            forms: ({ vault }) =>
              edgeForms({ clock, artifacts, runtime, vault, log: silentLogger, endpointDomain: "atoll.localhost" }),
          }),
    });
    const { control, principals } = this.rig;
    const api = createApi({ control, principals, artifacts, host: hostConfig(), log: silentLogger });
    this.#handle = (request) => api.handle(request);
  }

  readonly fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const request = new Request(url, init);
    const body = await request.clone().text();
    const { pathname, search } = new URL(url);
    const sent: Sent = {
      method: request.method,
      path: pathname + search,
      headers: request.headers,
      body,
      atMs: this.clock.monotonicMs(),
    };
    this.sent.push(sent);
    const pass = (): Promise<Response> => this.#handle(request);
    return await (this.network(sent, pass) ?? pass());
  };

  location(more: Partial<NodeLocation> = {}): NodeLocation {
    return {
      origin: "https://host.example",
      baseUrl: { must: "be on the origin" },
      token: this.rig.admin,
      ca: null,
      description: "the node",
      ...more,
    };
  }

  async connect(options: { readonly location?: NodeLocation; readonly patienceMs?: number } = {}): Promise<HostClient> {
    const { fetch, clock } = this;
    const random = new SeededRandom(seeds++);
    const { location = this.location(), patienceMs = 300_000 } = options;
    return await this.run(HostClient.connect({ location, fetch, clock, random, patienceMs }));
  }

  operator(client: HostClient): OperatorClient {
    return new OperatorClient(client.transport, client.location);
  }

  /** Let time pass until the promise has settled. */
  async run<T>(promise: Promise<T>): Promise<T> {
    const state = { pending: true };
    const settled = promise.finally(() => {
      state.pending = false;
    });
    settled.catch(() => {});
    await this.until(() => !state.pending);
    return settled;
  }

  /** Let time pass until `condition` holds. */
  async until(condition: () => boolean): Promise<void> {
    for (let turns = 0; !condition(); turns++) {
      if (turns > 100_000) throw new Error("what was waited for does not happen");
      await this.clock.advance(turns % 10 === 9 ? 50 : 0);
    }
  }

  /** Requests that ask for a change. */
  mutations(): readonly Sent[] {
    return this.sent.filter(
      ({ method, path }) => method !== "GET" && method !== "HEAD" && !path.startsWith("/operator/"),
    );
  }
}

/** Artifacts that exist only where they were uploaded to, and are used only in Spaces they were uploaded for. */
export class HeldArtifacts implements ArtifactUpload, ArtifactAcquirer {
  readonly #held = new Map<
    string,
    { readonly bytes: Uint8Array; readonly spaces: Set<string>; readonly owners: Set<string> }
  >();

  async put(sha256: Sha256Hex, body: ReadableStream<Uint8Array>, grant: { readonly spaces: readonly string[] }) {
    const bytes = await new Response(body).bytes();
    const actual = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
    if (actual !== sha256) throw new AtollError("artifact_digest_mismatch", "the bytes have another digest");
    const known = this.#held.get(sha256);
    const entry = known ?? { bytes, spaces: new Set<string>(), owners: new Set<string>() };
    for (const space of grant.spaces) entry.spaces.add(space);
    this.#held.set(sha256, entry);
    return { created: known === undefined, byteSize: bytes.length };
  }

  async find(sha256: Sha256Hex, spaces: readonly string[] | null) {
    const known = this.#held.get(sha256);
    const usable = known !== undefined && (spaces === null || spaces.some((space) => known.spaces.has(space)));
    return usable ? { byteSize: known.bytes.length } : null;
  }

  async acquire({ sha256, space, owner }: AcquireRequest): Promise<{ byteSize: number }> {
    const known = this.#held.get(sha256);
    if (!known?.spaces.has(space)) throw new AtollError("artifact_policy_refused", "the source is not allowed");
    known.owners.add(owner);
    return { byteSize: known.bytes.length };
  }

  async read(sha256: Sha256Hex): Promise<Uint8Array> {
    const known = this.#held.get(sha256);
    if (known === undefined) throw new AtollError("artifact_unreachable", "the artifact is not held");
    return known.bytes;
  }

  async holds(sha256: Sha256Hex, owner: ResourceUid): Promise<boolean> {
    return this.#held.get(sha256)?.owners.has(owner) ?? false;
  }

  async release(owner: ResourceUid): Promise<void> {
    for (const entry of this.#held.values()) entry.owners.delete(owner);
  }
}
