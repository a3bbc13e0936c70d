// The routes of Operations (HA-9, HA-10).
import { Elysia } from "elysia";
import { AtollError } from "../../base/errors.ts";
import { authenticate } from "../auth.ts";
import { MethodNotAllowed } from "../problem.ts";
import { pathId, readJsonObject, readQuery } from "../request.ts";
import { jsonResponse } from "../response.ts";
import { decodeReplenishment } from "./decode.ts";
import { encodeOperation } from "./encode.ts";
import type { HostContext } from "./host-context.ts";

export function operations({ control, principals, host }: HostContext) {
  return new Elysia({ name: "host-operations", strictPath: true })
    .get("/operations/:id", ({ request, params }) => {
      const caller = authenticate(request, principals);
      const id = pathId(params.id);
      readQuery(request, []);
      return jsonResponse(encodeOperation(control.operation(caller, id)));
    })
    .all("/operations/:id", () => {
      throw new MethodNotAllowed(["GET", "HEAD"]);
    })
    .put(
      "/operations/:id/private-inputs",
      async ({ request, params }) => {
        const caller = authenticate(request, principals);
        if (!control.config.capabilities.privateInputs) {
          throw new AtollError("capability_unavailable", "this Host takes no private inputs");
        }
        const id = pathId(params.id);
        const { object } = await readJsonObject(request, host.maxRequestBytes);
        readQuery(request, []);
        return jsonResponse(encodeOperation(control.replenish(caller, id, decodeReplenishment(object))));
      },
      { parse: "none" },
    )
    .all("/operations/:id/private-inputs", () => {
      throw new MethodNotAllowed(["PUT"]);
    });
}
