// Upload of artifact bytes by digest. Idempotent: the same bytes again change nothing.
import { Elysia } from "elysia";
import { AtollError } from "../../base/errors.ts";
import { isName, isSha256Hex, type Sha256Hex, type SpaceName } from "../../base/ids.ts";
import { ARTIFACT_BYTES_MAX } from "../../base/limits.ts";
import type { Caller } from "../../control/principals/caller.ts";
import type { Principals } from "../../control/principals/principals.ts";
import { authenticate } from "../auth.ts";
import { MethodNotAllowed } from "../problem.ts";
import { jsonResponse, NO_STORE } from "../response.ts";
import type { OperatorContext } from "./operator-context.ts";

const PATH = "/artifacts/sha256/:hex";

export function artifactRoutes({ artifacts, principals }: OperatorContext) {
  return new Elysia({ name: "operator-artifacts", strictPath: true })
    .put(
      PATH,
      async ({ request, params }) => {
        const caller = authenticate(request, principals);
        const sha256 = decodeDigest(params.hex);
        const spaces = decodeSpaces(request, caller, principals);
        if (Number(request.headers.get("content-length") ?? "0") > ARTIFACT_BYTES_MAX) {
          throw new AtollError("artifact_limit_exceeded", `an artifact has at most ${ARTIFACT_BYTES_MAX} octets`);
        }
        const body = request.body ?? new Blob([]).stream();
        const { created, byteSize } = await artifacts.put(sha256, body, { spaces });
        return jsonResponse({ sha256, byteSize, spaces }, created ? 201 : 200);
      },
      { parse: "none" },
    )
    .head(PATH, async ({ request, params }) => {
      const caller = authenticate(request, principals);
      const found = await artifacts.find(decodeDigest(params.hex), caller.spaces("read"));
      return new Response(null, { status: found === null ? 404 : 200, headers: NO_STORE });
    })
    .all(PATH, () => {
      throw new MethodNotAllowed(["PUT", "HEAD"]);
    });
}

function decodeDigest(hex: unknown): Sha256Hex {
  if (!isSha256Hex(hex)) throw new AtollError("not_found", "a digest has 64 lowercase hex digits");
  return hex;
}

/** The Spaces that may use the bytes: those named, else every Space the caller may write in. */
function decodeSpaces(request: Request, caller: Caller, principals: Principals): readonly SpaceName[] {
  const named = new Set<SpaceName>();
  for (const [parameter, value] of new URL(request.url).searchParams) {
    if (parameter !== "space" || !isName(value)) throw new AtollError("invalid_request", "the query is malformed");
    named.add(value as SpaceName);
  }
  const mayWrite = caller.spaces("write") ?? principals.spaces().map((space) => space.name);
  if (named.size === 0) {
    if (mayWrite.length === 0) throw new AtollError("forbidden", "you may not write in any Space");
    return mayWrite;
  }
  if (![...named].every((space) => mayWrite.includes(space))) {
    throw new AtollError("forbidden", "you may not write in one of these Spaces, or there is no such Space");
  }
  return [...named];
}
