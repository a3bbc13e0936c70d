import { Elysia } from "elysia";
import type { ControlConfig } from "../../control/control-config.ts";
import { MethodNotAllowed } from "../problem.ts";
import { DISCOVERY_PATH, type HostApiConfig } from "./host-config.ts";

/** HA-1, HA-35: connection metadata, for everybody, and cacheable. */
export function discovery(host: HostApiConfig, control: ControlConfig) {
  const body = JSON.stringify({
    api: "forms.takoform.com/v2",
    baseUrl: host.baseUrl,
    documentation: host.documentation,
    authentication: { schemes: ["Bearer"], documentation: host.authenticationDocumentation },
    capabilities: {
      offerings: false,
      previews: control.capabilities.previews,
      privateInputs: control.capabilities.privateInputs,
    },
    limits: {
      maxRequestBytes: host.maxRequestBytes,
      maxPageSize: host.maxPageSize,
      replayWindowSeconds: Math.floor(control.replayWindowMs / 1000),
    },
  });
  return new Elysia({ name: "host-discovery", strictPath: true })
    .get(DISCOVERY_PATH, () => new Response(body, { headers: { "content-type": "application/json" } }))
    .all(DISCOVERY_PATH, () => {
      throw new MethodNotAllowed(["GET", "HEAD"]);
    });
}
