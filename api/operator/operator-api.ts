import { Elysia } from "elysia";
import { authenticateAdmin } from "../auth.ts";
import { MethodNotAllowed } from "../problem.ts";
import { jsonResponse } from "../response.ts";
import { principalRoutes, spaceRoutes, tokenRoutes } from "./access.ts";
import { artifactRoutes } from "./artifacts.ts";
import type { OperatorContext } from "./operator-context.ts";

export const OPERATOR_ROOT = "/operator/v1";

/** What an operator does beside the Host API. For admins, except uploads, which need write permission in a Space. */
export function operatorApi(context: OperatorContext) {
  const { control, principals } = context;
  return new Elysia({ name: "operator-api", prefix: OPERATOR_ROOT, strictPath: true })
    .use(tokenRoutes(context))
    .use(spaceRoutes(context))
    .use(principalRoutes(context))
    .use(artifactRoutes(context))
    .get("/health", ({ request }) => {
      authenticateAdmin(request, principals);
      return jsonResponse({ status: "ok", ...control.health() });
    })
    .all("/health", () => {
      throw new MethodNotAllowed(["GET", "HEAD"]);
    });
}
