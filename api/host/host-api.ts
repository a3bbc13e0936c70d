import { Elysia } from "elysia";
import { discovery } from "./discovery.ts";
import { rootPathOf } from "./host-config.ts";
import type { HostContext } from "./host-context.ts";
import { operations } from "./operations.ts";
import { queries } from "./queries.ts";
import { resources } from "./resources.ts";

/** The Host API v2: discovery at the origin, everything else under the root path of `host.baseUrl`. */
export function hostApi(context: HostContext) {
  const root = new Elysia({ name: "host-api", prefix: rootPathOf(context.host), strictPath: true })
    .use(queries(context))
    .use(resources(context))
    .use(operations(context));
  return new Elysia({ name: "host", strictPath: true }).use(discovery(context.host, context.control.config)).use(root);
}
