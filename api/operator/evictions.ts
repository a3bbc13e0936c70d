// Ending the cells of a Worker, as the node does with idle ones, for tests that ask what survives it.
import { Elysia } from "elysia";
import { AtollError } from "../../base/errors.ts";
import { isName, type ResourceUid } from "../../base/ids.ts";
import { authenticateAdmin } from "../auth.ts";
import { MethodNotAllowed } from "../problem.ts";
import { readJsonObject } from "../request.ts";
import { jsonResponse } from "../response.ts";
import type { OperatorContext } from "./operator-context.ts";
import type { TestHooks } from "./telemetry.ts";

const BODY_BYTES_MAX = 1_024;

export function evictionRoutes({ principals }: OperatorContext, { evict }: TestHooks) {
  return new Elysia({ name: "operator-evictions", strictPath: true })
    .post(
      "/evictions",
      async ({ request }) => {
        authenticateAdmin(request, principals);
        const { object } = await readJsonObject(request, BODY_BYTES_MAX);
        const { workerUid, ...others } = object;
        if (!isName(workerUid) || Object.keys(others).length > 0) {
          throw new AtollError("invalid_request", 'the body is {"workerUid": "…"}');
        }
        return jsonResponse({ cells: await evict(workerUid as string as ResourceUid) });
      },
      { parse: "none" },
    )
    .all("/evictions", () => {
      throw new MethodNotAllowed(["POST"]);
    });
}
