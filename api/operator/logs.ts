// Live logs: for everybody who may read in a Space, of that Space.
import { Elysia } from "elysia";
import { AtollError } from "../../base/errors.ts";
import type { SpaceName } from "../../base/ids.ts";
import { authenticate } from "../auth.ts";
import { MethodNotAllowed } from "../problem.ts";
import { readLogQuery } from "./log-query.ts";
import { logStream } from "./log-stream.ts";
import type { OperatorContext } from "./operator-context.ts";
import type { Telemetry } from "./telemetry.ts";

/** Each open stream holds a connection and a queue. */
const LISTENERS_MAX = 256;

export function logRoutes({ principals }: OperatorContext, telemetry: Telemetry) {
  const { logs, run, clock, nodeClock } = telemetry;
  return new Elysia({ name: "operator-logs", strictPath: true })
    .get("/logs", ({ request }) => {
      const caller = authenticate(request, principals);
      const hasSpace = (name: string): boolean => principals.hasSpace(name);
      const query = readLogQuery(request, caller, { run, nowMs: nodeClock.nowMs(), hasSpace });
      if (logs.listeners >= LISTENERS_MAX) {
        throw new AtollError("rate_limited", `the node has ${LISTENERS_MAX} log streams open already`);
      }
      const subscription = logs.subscribe(query.filter, query.start);
      const mayRead = (): ((space: SpaceName) => boolean) | null => {
        try {
          const now = authenticate(request, principals);
          return (space) => now.may("read", space);
        } catch {
          return null;
        }
      };
      return logStream({ ...query, subscription, run, clock, mayRead });
    })
    .all("/logs", () => {
      throw new MethodNotAllowed(["GET"]);
    });
}
