// A client of the Host API v2 that keeps a client's side of the contract.
//
//   C1. No credential leaves before the discovery document has been checked (HA-38).
//   C2. A mutation whose answer is uncertain is sent again with its own key and body, never as a new one, and only
//       inside the replay window that began with its first sending (HA-127, HA-150).
//   C3. Only `succeeded` is success (HA-26, HA-103).
import type { Clock } from "../../base/clock.ts";
import { type Random, newId } from "../../base/random.ts";
import { ApiError, UnreachableError } from "./api-error.ts";
import { apiRoot, checkDiscovery, DISCOVERY_PATH } from "./discovery.ts";
import {
  type Discovery,
  type Operation,
  readOperation,
  readPage,
  readPreview,
  readResource,
  type Resource,
} from "./host-types.ts";
import type { NodeLocation } from "./node-location.ts";
import { type Answer, type Call, type Fetch, Transport } from "./transport.ts";

export interface HostClientParts {
  readonly location: NodeLocation;
  readonly fetch: Fetch;
  readonly clock: Clock;
  readonly random: Random;
  /** How long one call may go on trying or waiting, in milliseconds. */
  readonly patienceMs: number;
}

/** An accepted mutation. */
export interface Accepted {
  readonly operation: Operation;
  /** What the Host asked for before the next look; null once settled. */
  readonly retryAfterMs: number | null;
}

export interface ResourceFilter {
  readonly space?: string;
  readonly name?: string;
  readonly form?: string;
}

const RETRY_MS_FIRST = 250;
const RETRY_MS_MAX = 5_000;
/** HA-32 makes a Host say it; one that does not is asked once a second. */
const RETRY_AFTER_MS_DEFAULT = 1_000;
const LIST_RESTARTS_MAX = 5;
/** Of the replay window; the last part is left to clocks that differ and requests on their way (C2). */
const WINDOW_SHARE = 0.8;

export class HostClient {
  readonly discovery: Discovery;
  readonly transport: Transport;
  readonly #parts: HostClientParts;
  readonly #root: string;

  private constructor(parts: HostClientParts, transport: Transport, discovery: Discovery) {
    this.#parts = parts;
    this.transport = transport;
    this.discovery = discovery;
    this.#root = apiRoot(discovery, parts.location);
  }

  /** Meet the node (C1). Rejects with UnreachableError. */
  static async connect(parts: HostClientParts): Promise<HostClient> {
    const { location, fetch, clock } = parts;
    const transport = new Transport({ fetch, clock, ca: location.ca });
    const answer = await transport.exchange({ method: "GET", url: location.origin + DISCOVERY_PATH, token: null });
    if (answer.type === "success") {
      return new HostClient(parts, transport, checkDiscovery(answer.body, location));
    }
    const why = answer.type === "uncertain" ? answer.why : answer.problem.code;
    throw new UnreachableError(`${location.description} cannot be reached: ${why}`, "check that it is running");
  }

  get location(): NodeLocation {
    return this.#parts.location;
  }

  async create(input: {
    readonly form: string;
    readonly space: string;
    readonly name: string;
    readonly spec: object;
    /** Secret values; they leave in this request and are kept nowhere on this side. */
    readonly privateInputs?: Readonly<Record<string, string>>;
  }): Promise<Accepted> {
    return await this.#mutate("POST", "/resources", {}, input);
  }

  async update(current: Resource, spec: object, privateInputs?: Readonly<Record<string, string>>): Promise<Accepted> {
    const body = { spec, ...(privateInputs === undefined ? {} : { privateInputs }) };
    return await this.#mutate("PUT", `/resources/${current.uid}`, generationOf(current), body);
  }

  async delete(current: Resource): Promise<Accepted> {
    return await this.#mutate("DELETE", `/resources/${current.uid}`, generationOf(current));
  }

  /**
   * Whether the Host would take an update of `current` to its own spec with these private inputs: that is, whether they
   * are the configured ones (WV-47). Nothing changes (HA-146). Null when the Host cannot say.
   */
  async holds(current: Resource, privateInputs: Readonly<Record<string, string>>): Promise<boolean | null> {
    if (!this.discovery.capabilities.previews) return null;
    const { uid, generation, spec } = current;
    const json = { action: "update", uid, expectedGeneration: generation, input: { spec, privateInputs } };
    const call: Call = { method: "POST", url: `${this.#root}/previews`, token: this.#token, body: { json } };
    const answer = await this.#patiently(call);
    if (answer.type === "refusal") throw ApiError.ofProblem(answer.problem);
    const { valid, errors } = expected(readPreview(answer.body), "a preview");
    if (valid) return true;
    return errors.every(({ code }) => code === "invalid_spec") ? false : null;
  }

  /** Null when there is no such Resource, or not for this caller. */
  async resource(uid: string): Promise<Resource | null> {
    const body = await this.#read(`/resources/${encodeURIComponent(uid)}`);
    return body === null ? null : expected(readResource(body), "a Resource");
  }

  /** Null when there is no such Operation, or it is no longer kept. */
  async operation(id: string): Promise<Operation | null> {
    const body = await this.#read(`/operations/${encodeURIComponent(id)}`);
    return body === null ? null : expected(readOperation(body), "an Operation");
  }

  /** Every Resource that matches, by uid. An expired cursor starts the walk again without repeating anything (HA-160). */
  async *resources(filter: ResourceFilter = {}): AsyncGenerator<Resource> {
    const seen = new Set<string>();
    let cursor: string | null = null;
    let restarts = 0;
    for (;;) {
      const query = new URLSearchParams({ ...filter, ...(cursor === null ? {} : { cursor }) });
      const url = `${this.#root}/resources?${query.toString()}`;
      const answer = await this.#patiently({ method: "GET", url, token: this.#token });
      if (answer.type === "refusal") {
        const hasExpired = answer.problem.code === "cursor_expired" && restarts++ < LIST_RESTARTS_MAX;
        if (!hasExpired) throw ApiError.ofProblem(answer.problem);
        cursor = null;
        continue;
      }
      const page = expected(readPage(answer.body), "a page of Resources");
      for (const resource of page.items) {
        if (seen.has(resource.uid)) continue;
        seen.add(resource.uid);
        yield resource;
      }
      if (page.nextCursor === null) return;
      cursor = page.nextCursor;
    }
  }

  /** The Resource of this name, whatever its Form; null when there is none. */
  async named(space: string, name: string): Promise<Resource | null> {
    for await (const resource of this.resources({ space, name })) return resource;
    return null;
  }

  /** Wait until the Operation has settled (C3). Rejects with ApiError when it failed, or when patience ran out. */
  async settled(accepted: Accepted, patienceMs = this.#parts.patienceMs): Promise<Operation> {
    const { clock } = this.#parts;
    const untilMs = clock.monotonicMs() + patienceMs;
    let { operation } = accepted;
    const pauseMs = accepted.retryAfterMs ?? RETRY_AFTER_MS_DEFAULT;
    for (;;) {
      if (operation.status === "succeeded") return operation;
      if (operation.status === "failed") throw ApiError.ofOperation(operation);
      if (operation.status === "waiting_input") {
        throw new ApiError("waiting_input", "the Operation waits for its private inputs to be given again", {
          operationId: operation.id,
        });
      }
      if (clock.monotonicMs() + pauseMs > untilMs) throw stillRunning(operation);
      await this.#pause(pauseMs);
      const current = await this.operation(operation.id);
      if (current === null)
        throw new ApiError("not_found", "the Operation can no longer be read", { operationId: operation.id });
      operation = current;
    }
  }

  get #token(): string {
    return this.#parts.location.token;
  }

  async #mutate(
    method: Call["method"],
    path: string,
    headers: Record<string, string>,
    json?: object,
  ): Promise<Accepted> {
    const key = newId(this.#parts.random, "cli-");
    const call: Call = {
      method,
      url: this.#root + path,
      token: this.#token,
      headers: { ...headers, "idempotency-key": key },
      ...(json === undefined ? {} : { body: { json } }),
    };
    const answer = await this.#patiently(call, this.discovery.limits.replayWindowSeconds * 1_000 * WINDOW_SHARE);
    if (answer.type === "refusal") throw ApiError.ofProblem(answer.problem);
    const operation = expected(readOperation(answer.body), "an Operation");
    return { operation, retryAfterMs: answer.status === 202 ? (answer.retryAfterMs ?? RETRY_AFTER_MS_DEFAULT) : null };
  }

  async #read(path: string): Promise<unknown> {
    const answer = await this.#patiently({ method: "GET", url: this.#root + path, token: this.#token });
    if (answer.type === "success") return answer.body;
    if (answer.problem.status === 404 || answer.problem.status === 410) return null;
    throw ApiError.ofProblem(answer.problem);
  }

  /** Send the very same request until the node gives an answer that can be relied on (C2). */
  async #patiently(call: Call, windowMs = Number.POSITIVE_INFINITY): Promise<Exclude<Answer, { type: "uncertain" }>> {
    const { clock, patienceMs } = this.#parts;
    const untilMs = clock.monotonicMs() + Math.min(patienceMs, windowMs);
    for (let attempt = 0; ; attempt++) {
      const answer = await this.transport.exchange(call);
      const isLimited = answer.type === "refusal" && answer.problem.status === 429;
      if (answer.type !== "uncertain" && !isLimited) return answer;
      const pauseMs = answer.retryAfterMs ?? Math.min(RETRY_MS_FIRST * 2 ** attempt, RETRY_MS_MAX);
      if (clock.monotonicMs() + pauseMs > untilMs) {
        if (answer.type === "refusal") return answer;
        throw unanswered(call, answer.why);
      }
      await this.#pause(pauseMs);
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.#parts.clock.after(ms, resolve));
  }
}

function generationOf(resource: Resource): Record<string, string> {
  return { "takoform-expected-generation": String(resource.generation) };
}

function expected<T>(value: T | null, what: string): T {
  if (value !== null) return value;
  throw new ApiError("invalid_answer", `the node's answer is not ${what} as the Host API defines it`, {
    hint: "check that this atoll and the node are of versions that fit",
  });
}

function unanswered(call: Call, why: string): UnreachableError {
  if (call.method === "GET" || call.method === "HEAD") {
    return new UnreachableError(`the node does not answer: ${why}`, "check that it is running, then try again");
  }
  return new UnreachableError(
    `it is not known whether the node accepted the request: ${why}`,
    "look at 'atoll resources list' before you try again",
  );
}

function stillRunning(operation: Operation): ApiError {
  const reason = operation.error === undefined ? "" : ` (${operation.error.code}: ${operation.error.message})`;
  return new ApiError("unfinished", `the Operation is still ${operation.status}${reason}`, {
    operationId: operation.id,
    hint: `it goes on by itself; look again with 'atoll operations show ${operation.id}'`,
  });
}
