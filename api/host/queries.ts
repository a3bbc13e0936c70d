// Support, Offerings and previews (HA-2, HA-3, HA-11).
import { Elysia } from "elysia";
import { AtollError } from "../../base/errors.ts";
import { isFormUrl } from "../../base/ids.ts";
import { authenticate } from "../auth.ts";
import { MethodNotAllowed } from "../problem.ts";
import { readJsonObject, readQuery } from "../request.ts";
import { jsonResponse } from "../response.ts";
import { decodePreview } from "./decode.ts";
import type { HostContext } from "./host-context.ts";

export function queries({ control, principals, host }: HostContext) {
  return new Elysia({ name: "host-queries", strictPath: true })
    .get("/support", ({ request }) => {
      authenticate(request, principals);
      const { form } = readQuery(request, ["form"]);
      if (!isFormUrl(form)) throw new AtollError("invalid_request", "the parameter form is missing or malformed");
      return jsonResponse(control.support(form));
    })
    .all("/support", () => {
      throw new MethodNotAllowed(["GET", "HEAD"]);
    })
    .get("/offerings", ({ request }) => {
      authenticate(request, principals);
      throw new AtollError("capability_unavailable", "this Host has no Offerings");
    })
    .all("/offerings", () => {
      throw new MethodNotAllowed(["GET", "HEAD"]);
    })
    .post(
      "/previews",
      async ({ request }) => {
        const caller = authenticate(request, principals);
        if (!control.config.capabilities.previews) {
          throw new AtollError("capability_unavailable", "this Host offers no previews");
        }
        const { object } = await readJsonObject(request, host.maxRequestBytes);
        readQuery(request, []);
        return jsonResponse(control.preview(caller, decodePreview(object)));
      },
      { parse: "none" },
    )
    .all("/previews", () => {
      throw new MethodNotAllowed(["POST"]);
    });
}
