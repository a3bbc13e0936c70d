import { Elysia } from "elysia";
import type { Control } from "../../control/control.ts";
import type { Principals } from "../../control/principals/principals.ts";
import { discovery } from "./discovery.ts";
import { type HostApiConfig, rootPathOf } from "./host-config.ts";
import { operations } from "./operations.ts";
import { queries } from "./queries.ts";
import { resources } from "./resources.ts";

export interface HostContext {
  readonly control: Control;
  readonly principals: Principals;
  readonly host: HostApiConfig;
}

/** The Host API v2: discovery at the origin, everything else under the root path of `host.baseUrl`. */
export function hostApi(context: HostContext) {
  const root = new Elysia({ name: "host-api", prefix: rootPathOf(context.host), strictPath: true })
    .use(queries(context))
    .use(resources(context))
    .use(operations(context));
  return new Elysia({ name: "host", strictPath: true }).use(discovery(context.host, context.control.config)).use(root);
}
