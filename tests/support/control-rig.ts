// A whole control plane with its APIs in this process, under a stepped clock, driven like over HTTP.
import { SteppedClock } from "../../base/stepped-clock.ts";
import { type Fields, type Logger, silentLogger } from "../../base/log.ts";
import { type Random, SeededRandom } from "../../base/random.ts";
import type { Sha256Hex } from "../../base/ids.ts";
import { AUTHENTICATION_PAGE, HOST_API_PAGE } from "../../api/documentation.ts";
import { type Api, createApi } from "../../api/server.ts";
import { DEFAULT_HOST_LIMITS, type HostApiConfig } from "../../api/host/host-config.ts";
import type { ArtifactUpload } from "../../control/artifacts/upload.ts";
import { Control } from "../../control/control.ts";
import { type ControlConfig, DEFAULT_CONTROL_CONFIG } from "../../control/control-config.ts";
import type { FormAdapter } from "../../control/forms/form.ts";
import { FormRegistry } from "../../control/forms/registry.ts";
import type { Faults } from "../../control/operations/faults.ts";
import type { Permission } from "../../control/principals/caller.ts";
import { Principals } from "../../control/principals/principals.ts";
import { ControlStore } from "../../storage/control/control-store.ts";
import { Sealer } from "../../storage/secrets/sealer.ts";
import { SealedVault } from "../../storage/secrets/vault.ts";
import { KeyValueEntryForm } from "./publisher/key-value-entry.ts";
import { PublisherBackend } from "./publisher/publisher-backend.ts";
import { RenderedGreetingForm } from "./publisher/rendered-greeting.ts";

export const BASE_URL = "https://host.example/apis/forms.takoform.com/v2";

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint: tests read whatever came
  readonly body: any;
}

export interface RigOptions {
  readonly config?: Partial<ControlConfig>;
  readonly host?: Partial<HostApiConfig>;
  readonly path?: string;
  readonly masterKey?: Uint8Array;
  readonly forms?: (rig: { readonly backend: PublisherBackend; readonly vault: SealedVault }) => readonly FormAdapter[];
  readonly faults?: Faults;
  readonly store?: ControlStore;
  readonly clock?: SteppedClock;
  readonly backend?: PublisherBackend;
  readonly start?: boolean;
  readonly random?: Random;
}

let seeds = 1;
let keys = 0;

export class ControlRig {
  readonly clock: SteppedClock;
  readonly store: ControlStore;
  readonly backend: PublisherBackend;
  readonly entries: KeyValueEntryForm;
  readonly vault: SealedVault;
  readonly principals: Principals;
  readonly control: Control;
  readonly api: Api;
  readonly artifacts = new MemoryArtifacts();
  /** Everything that was logged. */
  readonly logged: string[] = [];
  /** The admin's token. */
  readonly admin: string;

  constructor(options: RigOptions = {}) {
    this.clock = options.clock ?? new SteppedClock(Date.UTC(2026, 9, 4, 12));
    const random = options.random ?? new SeededRandom(seeds++);
    this.store = options.store ?? ControlStore.open(options.path ?? ":memory:");
    this.backend = options.backend ?? new PublisherBackend();
    const masterKey = options.masterKey ?? new Uint8Array(32).fill(7);
    this.vault = new SealedVault(this.store, new Sealer(masterKey, "vault", random));
    this.entries = new KeyValueEntryForm(this.backend);
    const made = options.forms?.(this) ?? [this.entries, new RenderedGreetingForm(this.backend, this.vault)];
    const parts = { store: this.store, clock: this.clock, random };
    this.principals = new Principals(parts);
    this.control = new Control({
      ...parts,
      forms: new FormRegistry(made),
      masterKey,
      log: recording(this.logged),
      config: { ...DEFAULT_CONTROL_CONFIG, ...options.config },
      ...(options.faults === undefined ? {} : { faults: options.faults }),
    });
    this.api = createApi({
      control: this.control,
      principals: this.principals,
      artifacts: this.artifacts,
      host: hostConfig(options.host),
      log: recording(this.logged),
    });
    this.principals.createSpace("default");
    this.admin = this.principals.issue({ principal: "admin", spaces: [], admin: true }).token;
    if (options.start !== false) this.control.start();
  }

  /** A token of a principal with these permissions in `space`. */
  token(principal: string, space = "default", permissions: readonly Permission[] = ["read", "write", "use"]): string {
    this.principals.createSpace(space);
    return this.principals.issue({ principal, spaces: [space], permissions }).token;
  }

  /** A key that no rig used before. */
  key(): string {
    return `key-${String(++keys).padStart(16, "0")}`;
  }

  /** One request; `path` below the API root, or absolute when it starts with `//`. */
  async call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const url = path.startsWith("//") ? `https://host.example${path.slice(1)}` : BASE_URL + path;
    return call(this.api, method, url, { token: this.admin, ...options });
  }

  async create(body: Record<string, unknown>, options: CallOptions = {}): Promise<Answer> {
    const headers = { "idempotency-key": this.key(), ...options.headers };
    return this.call("POST", "/resources", { ...options, headers, json: { space: "default", ...body } });
  }

  async update(uid: string, generation: number, body: unknown, options: CallOptions = {}): Promise<Answer> {
    const headers = {
      "idempotency-key": this.key(),
      "takoform-expected-generation": String(generation),
      ...options.headers,
    };
    return this.call("PUT", `/resources/${uid}`, { ...options, headers, json: body });
  }

  async delete(uid: string, generation: number, options: CallOptions = {}): Promise<Answer> {
    const headers = {
      "idempotency-key": this.key(),
      "takoform-expected-generation": String(generation),
      ...options.headers,
    };
    return this.call("DELETE", `/resources/${uid}`, { ...options, headers });
  }

  /** Let everything run that needs no time. */
  async settle(): Promise<void> {
    for (let i = 0; i < 4; i++) await this.clock.advance(0);
  }

  /** Accept, run to the end, and return the settled Operation. */
  async settled(accepted: Promise<Answer>): Promise<any> {
    const answer = await accepted;
    if (answer.status !== 202) throw new Error(`expected 202, got ${answer.status}: ${answer.text}`);
    await this.settle();
    return this.operation(answer.body.id);
  }

  async operation(id: string): Promise<any> {
    return (await this.call("GET", `/operations/${id}`)).body;
  }

  async resource(uid: string): Promise<any> {
    return (await this.call("GET", `/resources/${uid}`)).body;
  }

  /** The same store and backend under a new control plane, as after a restart of the process. */
  restart(options: RigOptions = {}): ControlRig {
    return new ControlRig({ store: this.store, clock: this.clock, backend: this.backend, ...options });
  }
}

export interface CallOptions {
  readonly token?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  /** Sent as it is. */
  readonly raw?: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
}

export async function call(api: Api, method: string, url: string, options: CallOptions): Promise<Answer> {
  const headers = new Headers(options.headers);
  if (options.token !== null && options.token !== undefined) headers.set("authorization", `Bearer ${options.token}`);
  const body = options.raw ?? (options.json === undefined ? null : JSON.stringify(options.json));
  if (body !== null && !headers.has("content-type")) headers.set("content-type", "application/json");
  const response = await api.handle(new Request(url, { method, headers, body }));
  const text = await response.text();
  const isJson = /json/.test(response.headers.get("content-type") ?? "");
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson && text !== "" ? JSON.parse(text) : null,
  };
}

export function hostConfig(more: Partial<HostApiConfig> = {}): HostApiConfig {
  return {
    baseUrl: BASE_URL,
    documentation: `https://host.example${HOST_API_PAGE}`,
    authenticationDocumentation: `https://host.example${AUTHENTICATION_PAGE}`,
    ...DEFAULT_HOST_LIMITS,
    ...more,
  };
}

/** Keeps what it is given in memory, unverified. */
export class MemoryArtifacts implements ArtifactUpload {
  readonly held = new Map<string, { byteSize: number; spaces: Set<string> }>();
  /** Thrown by the next put. */
  refusal: Error | null = null;

  async put(sha256: Sha256Hex, body: ReadableStream<Uint8Array>, grant: { readonly spaces: readonly string[] }) {
    const byteSize = (await new Response(body).bytes()).byteLength;
    if (this.refusal !== null) throw this.refusal;
    const known = this.held.get(sha256);
    const spaces = new Set([...(known?.spaces ?? []), ...grant.spaces]);
    this.held.set(sha256, { byteSize, spaces });
    return { created: known === undefined, byteSize };
  }

  async find(sha256: Sha256Hex, spaces: readonly string[] | null) {
    const known = this.held.get(sha256);
    const usable = known !== undefined && (spaces === null || spaces.some((space) => known.spaces.has(space)));
    return usable ? { byteSize: known.byteSize } : null;
  }
}

function recording(lines: string[]): Logger {
  const add = (message: string, fields?: Fields): void => {
    lines.push(
      `${message} ${Object.entries(fields ?? {})
        .map(([name, value]) => `${name}=${text(value)}`)
        .join(" ")}`,
    );
  };
  return { ...silentLogger, info: add, warn: add, error: add, debug: add };
}

function text(value: unknown): string {
  return value instanceof Error ? `${value.name}: ${value.message}\n${value.stack}` : JSON.stringify(value);
}
