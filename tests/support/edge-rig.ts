// The edge Forms under the real engine and the real API, asked over a real socket. Only what runs Workers and what
// fetches artifacts are fakes, and the clock moves when told to.
import { SteppedClock } from "../../base/stepped-clock.ts";
import { silentLogger } from "../../base/log.ts";
import type { JsonObject } from "../../base/json.ts";
import type { FormUrl, ResourceUid } from "../../base/ids.ts";
import type { ArtifactAcquirer } from "../../control/artifacts/acquirer.ts";
import { edgeForms } from "../../control/forms/edge-forms.ts";
import type { SecretVault } from "../../control/forms/form.ts";
import {
  MODULE_WORKER,
  WORKER_BUNDLE,
  WORKER_DEPLOYMENT,
  WORKER_ENDPOINT,
  WORKER_VERSION,
} from "../../control/forms/form-urls.ts";
import type { Permission } from "../../control/principals/caller.ts";
import type { HandlerName } from "../../runtime/workers/worker-runtime.ts";
import { BASE_URL, ControlRig, type RigOptions } from "./control-rig.ts";
import { deploymentSpec, endpointSpec, versionSpec } from "./forms/chain.ts";
import { FakeArtifacts } from "./forms/fake-artifacts.ts";
import { FakeRuntime } from "./forms/fake-runtime.ts";

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint: tests read whatever came
  readonly body: any;
}

export interface CreateOptions {
  readonly privateInputs?: unknown;
  readonly name?: string;
  readonly space?: string;
  readonly token?: string;
  readonly key?: string;
}

/** How long an Operation may take on the stepped clock before a test gives up. */
const SETTLE_MS_MAX = 120_000;

export class EdgeRig implements Disposable {
  readonly clock = new SteppedClock(Date.UTC(2026, 9, 4, 12));
  readonly artifacts = new FakeArtifacts();
  runtime = new FakeRuntime();
  rig: ControlRig;
  readonly #acquirer: ArtifactAcquirer;
  #server: ReturnType<typeof Bun.serve>;
  #names = 0;

  /** `acquirer` takes the place of the fake artifacts. */
  constructor(acquirer?: ArtifactAcquirer) {
    this.#acquirer = acquirer ?? this.artifacts;
    this.rig = new ControlRig({ clock: this.clock, ...this.#options() });
    this.#server = this.#listen();
  }

  [Symbol.dispose](): void {
    void this.#server.stop(true);
  }

  get vault(): SecretVault {
    return this.rig.vault;
  }

  /** As after a restart of the process: the records stay, everything in memory is new. */
  async restart(options: RigOptions = {}): Promise<void> {
    await this.rig.control.stop();
    this.runtime = new FakeRuntime();
    this.rig = this.rig.restart({ ...this.#options(), ...options });
  }

  token(principal: string, space = "default", permissions?: readonly Permission[]): string {
    return this.rig.token(principal, space, permissions);
  }

  async http(
    method: string,
    path: string,
    options: { readonly token?: string; readonly headers?: Record<string, string>; readonly body?: string } = {},
  ): Promise<HttpAnswer> {
    const url = `http://127.0.0.1:${this.#server.port}${new URL(BASE_URL).pathname}${path}`;
    const headers = new Headers(options.headers);
    headers.set("authorization", `Bearer ${options.token ?? this.rig.admin}`);
    if (options.body !== undefined && !headers.has("content-type")) headers.set("content-type", "application/json");
    const response = await fetch(url, { method, headers, body: options.body ?? null });
    const text = await response.text();
    const body = /json/.test(response.headers.get("content-type") ?? "") && text !== "" ? JSON.parse(text) : null;
    return { status: response.status, headers: response.headers, text, body };
  }

  /** POST a Resource; `spec` as a string is sent as it is written. */
  create(form: FormUrl, spec: unknown, options: CreateOptions = {}): Promise<HttpAnswer> {
    const { name = `n-${++this.#names}`, space = "default" } = options;
    const text = typeof spec === "string" ? spec : JSON.stringify(spec);
    const head = JSON.stringify({ form, space, name, ...privateInputs(options) }).slice(0, -1);
    const headers = { "idempotency-key": options.key ?? this.rig.key() };
    return this.http("POST", "/resources", { headers, body: `${head},"spec":${text}}`, ...tokenOf(options) });
  }

  async update(uid: string, spec: unknown, options: CreateOptions = {}): Promise<HttpAnswer> {
    const text = typeof spec === "string" ? spec : JSON.stringify(spec);
    const inputs = JSON.stringify(privateInputs(options)).slice(1, -1);
    const body = `{${inputs}${inputs === "" ? "" : ","}"spec":${text}}`;
    return this.http("PUT", `/resources/${uid}`, {
      headers: await this.#change(uid, options),
      body,
      ...tokenOf(options),
    });
  }

  async delete(uid: string, options: CreateOptions = {}): Promise<HttpAnswer> {
    return this.http("DELETE", `/resources/${uid}`, { headers: await this.#change(uid, options), ...tokenOf(options) });
  }

  async resource(uid: string): Promise<HttpAnswer["body"]> {
    return (await this.http("GET", `/resources/${uid}`)).body;
  }

  async operation(id: string): Promise<HttpAnswer["body"]> {
    return (await this.http("GET", `/operations/${id}`)).body;
  }

  /** The settled Operation of an accepted mutation, moving the clock as far as it takes. */
  async settled(accepted: HttpAnswer | Promise<HttpAnswer>): Promise<HttpAnswer["body"]> {
    const { status, body, text } = await accepted;
    if (status !== 202 && status !== 200) throw new Error(`not accepted: ${status} ${text}`);
    for (let ms = 0; ms <= SETTLE_MS_MAX; ms += 250) {
      for (let turn = 0; turn < 8; turn++) {
        await this.clock.advance(0);
        const operation = await this.operation(body.id);
        if (operation.status === "succeeded" || operation.status === "failed") return operation;
      }
      await this.clock.advance(250);
    }
    throw new Error(`the Operation does not settle: ${JSON.stringify(await this.operation(body.id))}`);
  }

  /** Let everything run that needs no time. */
  async quiet(): Promise<void> {
    for (let turn = 0; turn < 20; turn++) await this.clock.advance(0);
  }

  /** Create, settle, insist on success, and answer the Resource. */
  async made(form: FormUrl, spec: unknown, options: CreateOptions = {}): Promise<HttpAnswer["body"]> {
    return this.resource(succeeded(await this.settled(this.create(form, spec, options))));
  }

  async worker(): Promise<ResourceUid> {
    return (await this.made(MODULE_WORKER, {})).uid;
  }

  async bundle(entrypoint = "main.js", handlers: readonly HandlerName[] = ["fetch"]): Promise<ResourceUid> {
    this.runtime.reports.set(entrypoint, { ok: true, handlers, classes: [] });
    const artifact = this.artifacts.publishBundle([{ path: entrypoint, content: `// ${entrypoint}` }]);
    return (await this.made(WORKER_BUNDLE, { artifact })).uid;
  }

  async version(
    worker: string,
    handlers: readonly HandlerName[] = ["fetch"],
    more: JsonObject = {},
  ): Promise<ResourceUid> {
    const bundle = await this.bundle(`${handlers.join("-") || "none"}.js`, handlers);
    return (await this.made(WORKER_VERSION, versionSpec(worker, bundle, { handlers, ...more }))).uid;
  }

  async deployment(worker: string, weights: Readonly<Record<string, number>>): Promise<ResourceUid> {
    return (await this.made(WORKER_DEPLOYMENT, deploymentSpec(worker, weights))).uid;
  }

  async endpoint(worker: string): Promise<ResourceUid> {
    return (await this.made(WORKER_ENDPOINT, endpointSpec(worker))).uid;
  }

  async #change(uid: string, options: CreateOptions): Promise<Record<string, string>> {
    const { generation } = await this.resource(uid);
    return {
      "idempotency-key": options.key ?? this.rig.key(),
      "takoform-expected-generation": String(generation ?? 1),
    };
  }

  #options(): RigOptions {
    const { clock, runtime } = this;
    const artifacts = this.#acquirer;
    return {
      forms: ({ vault }) =>
        edgeForms({ clock, artifacts, runtime, vault, log: silentLogger, endpointDomain: "atoll.localhost" }),
    };
  }

  #listen(): ReturnType<typeof Bun.serve> {
    // Reads the field at each request, so that a restart needs no new socket.
    return Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: (request) => this.rig.api.handle(request) });
  }
}

/** `409 dependency_conflict`. */
export function refusal(answer: HttpAnswer): string {
  return `${answer.status} ${answer.body?.code ?? answer.body?.status}`;
}

/** The uid of a succeeded Operation; throws on any other. */
export function succeeded(operation: HttpAnswer["body"]): ResourceUid {
  if (operation.status !== "succeeded") throw new Error(`expected success: ${JSON.stringify(operation)}`);
  return operation.resourceUid;
}

/** `failed none artifact_unreachable`. */
export function verdict(operation: HttpAnswer["body"]): string {
  return operation.status === "failed" ? `failed ${operation.effect} ${operation.error.code}` : operation.status;
}

function privateInputs(options: CreateOptions): { readonly privateInputs?: unknown } {
  return options.privateInputs === undefined ? {} : { privateInputs: options.privateInputs };
}

function tokenOf(options: CreateOptions): { readonly token?: string } {
  return options.token === undefined ? {} : { token: options.token };
}
