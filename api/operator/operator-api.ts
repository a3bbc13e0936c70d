import { Elysia } from "elysia";
import { authenticateAdmin } from "../auth.ts";
import { MethodNotAllowed } from "../problem.ts";
import { jsonResponse } from "../response.ts";
import { principalRoutes, spaceRoutes, tokenRoutes } from "./access.ts";
import { artifactRoutes } from "./artifacts.ts";
import { logRoutes } from "./logs.ts";
import { metricsRoutes } from "./metrics.ts";
import type { OperatorContext } from "./operator-context.ts";
import { evictionRoutes } from "./evictions.ts";
import { testClockRoutes } from "./test-clock.ts";

export const OPERATOR_ROOT = "/operator/v1";

/**
 * What an operator does beside the Host API. For admins, except uploads and logs, which need write and read permission
 * in a Space.
 */
export function operatorApi(context: OperatorContext) {
  const { control, principals } = context;
  const app = new Elysia({ name: "operator-api", prefix: OPERATOR_ROOT, strictPath: true })
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
  const { telemetry = null } = context;
  if (telemetry !== null) {
    app.use(logRoutes(context, telemetry)).use(metricsRoutes(context, telemetry));
    if (telemetry.test !== null)
      app.use(testClockRoutes(context, telemetry.test)).use(evictionRoutes(context, telemetry.test));
  }
  return app;
}
