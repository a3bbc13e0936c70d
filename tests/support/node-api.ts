// The public Host API of a running node, as a test speaks it: short, over a real socket, and without any of the
// client's cleverness, so that what a test sees is what the node said.
import type { FormUrl, ResourceUid } from "../../base/ids.ts";

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint: tests read whatever came
  readonly body: any;
}

export interface ChangeOptions {
  readonly key?: string;
  readonly name?: string;
  readonly privateInputs?: Readonly<Record<string, string>>;
}

/** How often an unfinished Operation is looked at, and how long it may take. */
const POLL_MS = 5;
const SETTLE_MS_MAX = 25_000;

export class NodeApi {
  readonly #origin: string;
  readonly #root: string;
  readonly #token: string;

  constructor(origin: string, baseUrl: string, token: string) {
    this.#origin = origin;
    this.#root = new URL(baseUrl).pathname;
    this.#token = token;
  }

  /** `path` is below the API root, or below the origin when it starts with `/operator`. */
  async call(
    method: string,
    path: string,
    options: { readonly headers?: Record<string, string>; readonly body?: string | Uint8Array<ArrayBuffer> } = {},
  ): Promise<ApiAnswer> {
    const url = `${this.#origin}${path.startsWith("/operator") ? "" : this.#root}${path}`;
    const headers = new Headers(options.headers);
    headers.set("authorization", `Bearer ${this.#token}`);
    if (typeof options.body === "string") headers.set("content-type", "application/json");
    const response = await fetch(url, { method, headers, body: options.body ?? null });
    const text = await response.text();
    const body = /json/.test(response.headers.get("content-type") ?? "") && text !== "" ? JSON.parse(text) : null;
    return { status: response.status, headers: response.headers, text, body };
  }

  async create(form: FormUrl, spec: unknown, options: ChangeOptions = {}): Promise<ApiAnswer> {
    const { key = crypto.randomUUID(), name = `n-${crypto.randomUUID()}`, privateInputs } = options;
    const body = JSON.stringify({ form, space: "default", name, spec, ...(privateInputs && { privateInputs }) });
    return await this.call("POST", "/resources", { headers: { "idempotency-key": key }, body });
  }

  async update(uid: string, spec: unknown, options: ChangeOptions = {}): Promise<ApiAnswer> {
    const { privateInputs } = options;
    const body = JSON.stringify({ spec, ...(privateInputs && { privateInputs }) });
    return await this.call("PUT", `/resources/${uid}`, { headers: await this.#change(uid, options), body });
  }

  async delete(uid: string, options: ChangeOptions = {}): Promise<ApiAnswer> {
    return await this.call("DELETE", `/resources/${uid}`, { headers: await this.#change(uid, options) });
  }

  async resource(uid: string): Promise<ApiAnswer["body"]> {
    return (await this.call("GET", `/resources/${uid}`)).body;
  }

  async operation(id: string): Promise<ApiAnswer["body"]> {
    return (await this.call("GET", `/operations/${id}`)).body;
  }

  /** The settled Operation of an accepted mutation. */
  async settled(accepted: ApiAnswer | Promise<ApiAnswer>): Promise<ApiAnswer["body"]> {
    const { status, body, text } = await accepted;
    if (status !== 202 && status !== 200) throw new Error(`not accepted: ${status} ${text}`);
    let operation = body;
    for (const untilMs = performance.now() + SETTLE_MS_MAX; performance.now() < untilMs; await Bun.sleep(POLL_MS)) {
      if (operation.status === "succeeded" || operation.status === "failed") return operation;
      operation = await this.operation(body.id);
    }
    throw new Error(`the Operation does not settle: ${JSON.stringify(operation)}`);
  }

  /** Settle, and insist on success; the uid of the Resource. */
  async done(accepted: ApiAnswer | Promise<ApiAnswer>): Promise<ResourceUid> {
    const operation = await this.settled(accepted);
    if (operation.status !== "succeeded") throw new Error(`expected success: ${JSON.stringify(operation)}`);
    return operation.resourceUid as ResourceUid;
  }

  /** `failed none handler_mismatch`, `succeeded`, or `409 dependency_conflict` when it was not accepted. */
  async verdict(answer: ApiAnswer | Promise<ApiAnswer>): Promise<string> {
    const { status, body } = await answer;
    if (status >= 400) return `${status} ${body?.code}`;
    const operation = await this.settled(answer);
    return operation.status === "failed" ? `failed ${operation.effect} ${operation.error.code}` : operation.status;
  }

  async #change(uid: string, options: ChangeOptions): Promise<Record<string, string>> {
    const { generation } = (await this.resource(uid)) ?? {};
    return {
      "idempotency-key": options.key ?? crypto.randomUUID(),
      "takoform-expected-generation": String(generation ?? 1),
    };
  }
}
