import { Elysia } from "elysia";
import { authenticateAdmin } from "../auth.ts";
import { MethodNotAllowed } from "../problem.ts";
import { readQuery } from "../request.ts";
import { NO_STORE } from "../response.ts";
import type { OperatorContext } from "./operator-context.ts";
import type { Telemetry } from "./telemetry.ts";

/** For admins: the numbers name Workers of every Space. */
export function metricsRoutes({ principals }: OperatorContext, telemetry: Telemetry) {
  return new Elysia({ name: "operator-metrics", strictPath: true })
    .get("/metrics", ({ request }) => {
      authenticateAdmin(request, principals);
      readQuery(request, []);
      return new Response(telemetry.metrics(), {
        headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8", ...NO_STORE },
      });
    })
    .all("/metrics", () => {
      throw new MethodNotAllowed(["GET", "HEAD"]);
    });
}
