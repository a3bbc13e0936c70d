// Moving the time of a node that runs on a test clock. On any other node there is nothing at these paths.
import { Elysia } from "elysia";
import { rfc3339 } from "../../base/clock.ts";
import { parseDuration } from "../../base/duration.ts";
import { AtollError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { authenticateAdmin } from "../auth.ts";
import { MethodNotAllowed } from "../problem.ts";
import { readJsonObject, readQuery } from "../request.ts";
import { jsonResponse } from "../response.ts";
import type { OperatorContext } from "./operator-context.ts";
import type { TestHooks } from "./telemetry.ts";

const BODY_BYTES_MAX = 1_024;

export function testClockRoutes({ principals }: OperatorContext, { clock }: TestHooks) {
  const shown = (nowMs: number): Response => jsonResponse({ now: rfc3339(nowMs), nowMs });
  return new Elysia({ name: "operator-test-clock", strictPath: true })
    .get("/test-clock", ({ request }) => {
      authenticateAdmin(request, principals);
      readQuery(request, []);
      return shown(clock.nowMs());
    })
    .all("/test-clock", () => {
      throw new MethodNotAllowed(["GET", "HEAD"]);
    })
    .post(
      "/test-clock/advance",
      async ({ request }) => {
        authenticateAdmin(request, principals);
        const { object } = await readJsonObject(request, BODY_BYTES_MAX);
        return shown(await clock.advance(moveOf(object)));
      },
      { parse: "none" },
    )
    .all("/test-clock/advance", () => {
      throw new MethodNotAllowed(["POST"]);
    });
}

function moveOf(body: JsonObject): number {
  const { ms, duration, ...others } = body;
  if ((ms === undefined) === (duration === undefined) || Object.keys(others).length > 0) {
    throw new AtollError("invalid_request", 'the body is {"ms": 7200000} or {"duration": "2h"}');
  }
  if (typeof ms === "number") return ms;
  const parsed = typeof duration === "string" ? parseDuration(duration) : null;
  if (parsed === null) throw new AtollError("invalid_request", "a duration is written like 90s, 2h or 1d12h");
  return parsed;
}
