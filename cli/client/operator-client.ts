// The operator API of a node: principals' tokens, Spaces, and artifact bytes.
import { z } from "zod";
import { ApiError, UnreachableError } from "./api-error.ts";
import type { NodeLocation } from "./node-location.ts";
import type { Answer, Call, Transport } from "./transport.ts";

const OPERATOR_ROOT = "/operator/v1";

const IssuedSchema = z.object({
  token: z.string(),
  principal: z.string(),
  spaces: z.array(z.string()),
  /** What `token revoke` takes. */
  id: z.string().optional(),
});
export type IssuedToken = z.output<typeof IssuedSchema>;

const TokenSchema = z.object({
  id: z.string(),
  principal: z.string(),
  spaces: z.array(z.string()),
  label: z.string().optional(),
  createdAt: z.string(),
  revokedAt: z.string().nullable(),
});
export type TokenRecord = z.output<typeof TokenSchema>;

const SpaceSchema = z.object({ name: z.string(), createdAt: z.string() });
export type SpaceRecord = z.output<typeof SpaceSchema>;

/** An upload is idempotent, so it is simply tried again. */
const UPLOAD_TRIES = 4;

export class OperatorClient {
  readonly #transport: Transport;
  readonly #location: NodeLocation;

  constructor(transport: Transport, location: NodeLocation) {
    this.#transport = transport;
    this.#location = location;
  }

  /** The token is shown this once; the node keeps its hash only. */
  async createToken(input: {
    readonly principal: string;
    readonly spaces: readonly string[];
    readonly admin?: boolean;
    readonly label?: string;
  }): Promise<IssuedToken> {
    return read(IssuedSchema, await this.#call("POST", "/tokens", input));
  }

  async tokens(): Promise<readonly TokenRecord[]> {
    return read(z.object({ items: z.array(TokenSchema) }), await this.#call("GET", "/tokens")).items;
  }

  async revokeToken(id: string): Promise<void> {
    await this.#call("DELETE", `/tokens/${encodeURIComponent(id)}`);
  }

  /** `created` is false when the Space was there already. */
  async createSpace(name: string): Promise<SpaceRecord & { readonly created: boolean }> {
    const answer = await this.#exchange("POST", "/spaces", { json: { name } });
    return { ...read(SpaceSchema, answer.body), created: answer.status === 201 };
  }

  async spaces(): Promise<readonly SpaceRecord[]> {
    return read(z.object({ items: z.array(SpaceSchema) }), await this.#call("GET", "/spaces")).items;
  }

  /** Make sure that the node holds `bytes` for `space`. False when it did already; `again` does not ask. */
  async upload(sha256: string, bytes: Uint8Array<ArrayBuffer>, space: string, again = false): Promise<boolean> {
    const path = `/artifacts/sha256/${sha256}?space=${encodeURIComponent(space)}`;
    if (!again && (await this.#transport.exchange(this.#request("HEAD", path))).type === "success") return false;
    const put = this.#request("PUT", path, { bytes });
    let answer = await this.#transport.exchange(put);
    for (let tries = 1; answer.type === "uncertain" && tries < UPLOAD_TRIES; tries++) {
      answer = await this.#transport.exchange(put);
    }
    success(answer);
    return true;
  }

  async #call(method: Call["method"], path: string, json?: object): Promise<unknown> {
    return (await this.#exchange(method, path, json === undefined ? undefined : { json })).body;
  }

  async #exchange(method: Call["method"], path: string, body?: Call["body"]) {
    return success(await this.#transport.exchange(this.#request(method, path, body)));
  }

  #request(method: Call["method"], path: string, body?: Call["body"]): Call {
    const { origin, token } = this.#location;
    return { method, url: `${origin}${OPERATOR_ROOT}${path}`, token, ...(body === undefined ? {} : { body }) };
  }
}

function success(answer: Answer): Extract<Answer, { type: "success" }> {
  if (answer.type === "success") return answer;
  if (answer.type === "refusal") throw ApiError.ofProblem(answer.problem);
  throw new UnreachableError(
    `the node did not answer as expected: ${answer.why}`,
    "check that it is running, then try again",
  );
}

function read<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  throw new ApiError("invalid_answer", "the node's answer is not what its operator API defines");
}
