// The routes of Resources (HA-4 … HA-8). Each is decode → call → encode.
import { Elysia } from "elysia";
import { AtollError } from "../../base/errors.ts";
import { isFormUrl, isName } from "../../base/ids.ts";
import { fingerprintOf, type Mutation } from "../../control/operations/mutation.ts";
import type { StrictJson } from "../../base/strict-json.ts";
import type { Caller } from "../../control/principals/caller.ts";
import type { ListQuery } from "../../control/resources/listing.ts";
import { authenticate } from "../auth.ts";
import { MethodNotAllowed } from "../problem.ts";
import { canonicalInteger, pathId, readJsonObject, readQuery, requireNoBody } from "../request.ts";
import { jsonResponse } from "../response.ts";
import { acceptedResponse } from "./accepted.ts";
import { decodeCreate, decodeExpectedGeneration, decodeKey, decodeUpdate } from "./decode.ts";
import { encodeResource } from "./encode.ts";
import type { HostContext } from "./host-context.ts";

export function resources(context: HostContext) {
  const { control, principals, host } = context;

  const mutate = async (
    caller: Caller,
    request: Request,
    sent: {
      readonly path: string;
      readonly mutation: Mutation;
      readonly key: string;
      readonly body: StrictJson | null;
    },
  ): Promise<Response> => {
    const fingerprint = fingerprintOf({
      method: request.method,
      path: sent.path,
      expectedGeneration: request.headers.get("takoform-expected-generation"),
      body: sent.body,
    });
    const accepted = control.accept(caller, { key: sent.key, fingerprint, mutation: sent.mutation });
    return acceptedResponse(await control.settledWithin(accepted, host.settleWaitMs), host);
  };

  return new Elysia({ name: "host-resources", strictPath: true })
    .get("/resources", ({ request }) => {
      const caller = authenticate(request, principals);
      const page = control.list(caller, decodeList(request, host.maxPageSize));
      return jsonResponse({ items: page.items.map(encodeResource), nextCursor: page.nextCursor });
    })
    .post(
      "/resources",
      async ({ request }) => {
        const caller = authenticate(request, principals);
        const { object, strict } = await readJsonObject(request, host.maxRequestBytes);
        readQuery(request, []);
        const key = decodeKey(request.headers);
        return mutate(caller, request, { path: "/resources", mutation: decodeCreate(object), key, body: strict });
      },
      { parse: "none" },
    )
    .all("/resources", () => {
      throw new MethodNotAllowed(["GET", "HEAD", "POST"]);
    })
    .get("/resources/:uid", ({ request, params }) => {
      const caller = authenticate(request, principals);
      const uid = pathId(params.uid);
      readQuery(request, []);
      return jsonResponse(encodeResource(control.resource(caller, uid)));
    })
    .put(
      "/resources/:uid",
      async ({ request, params }) => {
        const caller = authenticate(request, principals);
        const uid = pathId(params.uid);
        const { object, strict } = await readJsonObject(request, host.maxRequestBytes);
        readQuery(request, []);
        const key = decodeKey(request.headers);
        const mutation = decodeUpdate(uid, decodeExpectedGeneration(request.headers), object);
        return mutate(caller, request, { path: `/resources/${uid}`, mutation, key, body: strict });
      },
      { parse: "none" },
    )
    .delete(
      "/resources/:uid",
      async ({ request, params }) => {
        const caller = authenticate(request, principals);
        const uid = pathId(params.uid);
        await requireNoBody(request);
        readQuery(request, []);
        const key = decodeKey(request.headers);
        const mutation: Mutation = {
          action: "delete",
          uid,
          expectedGeneration: decodeExpectedGeneration(request.headers),
        };
        return mutate(caller, request, { path: `/resources/${uid}`, mutation, key, body: null });
      },
      { parse: "none" },
    )
    .all("/resources/:uid", () => {
      throw new MethodNotAllowed(["GET", "HEAD", "PUT", "DELETE"]);
    });
}

/** HA-83, HA-143, HA-A10. */
function decodeList(request: Request, maxPageSize: number): ListQuery {
  const query = readQuery(request, ["space", "name", "form", "limit", "cursor"]);
  const { space = null, name = null, form = null, limit, cursor = null } = query;
  if (space !== null && !isName(space)) throw new AtollError("invalid_request", "the filter space is malformed");
  if (name !== null && !isName(name)) throw new AtollError("invalid_request", "the filter name is malformed");
  if (form !== null && !isFormUrl(form)) throw new AtollError("invalid_request", "the filter form is malformed");
  const countMax = limit === undefined ? maxPageSize : canonicalInteger(limit);
  if (countMax === null || countMax < 1 || countMax > maxPageSize) {
    throw new AtollError("invalid_request", `limit must be an integer from 1 to ${maxPageSize}`);
  }
  return { space, name, form, cursor, countMax };
}
