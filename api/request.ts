// Reading a request within bounds: body, headers and query, each refused before anything else happens.
import { AtollError } from "../base/errors.ts";
import { isName } from "../base/ids.ts";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { INTEGER_MAX } from "../base/limits.ts";
import { readStrictJson, type StrictJson } from "../base/strict-json.ts";

export interface JsonBody {
  readonly object: JsonObject;
  readonly strict: StrictJson;
}

/**
 * A JSON object as body. Throws `request_too_large` as soon as more than `bytesMax` octets arrived (HA-41),
 * `unsupported_media_type` for anything but uncoded `application/json` in UTF-8 (HA-28, HA-A16), and
 * `invalid_request`.
 */
export async function readJsonObject(request: Request, bytesMax: number): Promise<JsonBody> {
  if (declaredLength(request) > bytesMax) throw tooLarge(bytesMax);
  requireJson(request.headers);
  const strict = readStrictJson(await readBytes(request, bytesMax));
  if (!isJsonObject(strict.value)) throw new AtollError("invalid_request", "the body must be a JSON object");
  return { object: strict.value, strict };
}

/** HA-A9. Throws `invalid_request` when there is a body, as soon as its first octet arrives. */
export async function requireNoBody(request: Request): Promise<void> {
  const refusal = new AtollError("invalid_request", "this request takes no body");
  if (declaredLength(request) > 0) throw refusal;
  const reader = request.body?.getReader();
  if (reader === undefined) return;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    if (value.byteLength === 0) continue;
    discard(reader);
    throw refusal;
  }
}

/** The query as a record. Throws `invalid_request` for unknown or repeated parameters (HA-24). */
export function readQuery<Name extends string>(
  request: Request,
  names: readonly Name[],
): Readonly<Partial<Record<Name, string>>> {
  const query: Partial<Record<Name, string>> = {};
  for (const [name, value] of new URL(request.url).searchParams) {
    const known = names.find((candidate) => candidate === name);
    if (known === undefined) throw new AtollError("invalid_request", "there is an unknown query parameter");
    if (query[known] !== undefined) throw new AtollError("invalid_request", `the parameter ${known} is repeated`);
    query[known] = value;
  }
  return query;
}

/** HA-A10: a malformed id in a path names nothing. */
export function pathId(id: unknown): string {
  if (!isName(id)) throw new AtollError("not_found", "there is nothing with this id");
  return id;
}

/** A canonical decimal: no sign, no leading zeros, at most 2^53-1 (HA-20, HA-A6). Null when it is none. */
export function canonicalInteger(text: string): number | null {
  if (!/^(?:0|[1-9][0-9]{0,15})$/.test(text)) return null;
  const value = Number(text);
  return value <= INTEGER_MAX ? value : null;
}

async function readBytes(request: Request, bytesMax: number): Promise<Uint8Array> {
  const reader = request.body?.getReader();
  if (reader === undefined) return new Uint8Array(0);
  const chunks: Uint8Array[] = [];
  let total = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, total);
    total += value.byteLength;
    if (total > bytesMax) {
      discard(reader);
      throw tooLarge(bytesMax);
    }
    chunks.push(value);
  }
}

/** The rest of a refused body is not wanted. Nobody waits for its sender to notice. */
function discard(reader: { cancel(): Promise<void> }): void {
  reader.cancel().catch(() => {});
}

function requireJson(headers: Headers): void {
  const coding = headers.get("content-encoding");
  if (coding !== null && coding.trim().toLowerCase() !== "identity") {
    throw new AtollError("unsupported_media_type", "send the body without a content coding");
  }
  const type = headers.get("content-type") ?? "";
  if (!/^application\/json(?:[ \t]*;[ \t]*charset=(?:utf-8|"utf-8"))?[ \t]*$/i.test(type.trim())) {
    throw new AtollError("unsupported_media_type", "send the body as application/json in UTF-8");
  }
}

function declaredLength(request: Request): number {
  const length = Number(request.headers.get("content-length") ?? "0");
  return Number.isFinite(length) ? length : 0;
}

function tooLarge(bytesMax: number): AtollError {
  return new AtollError("request_too_large", `the body may have at most ${bytesMax} octets`);
}
