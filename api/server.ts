// All HTTP APIs of a node behind one function from request to response.
import { Elysia } from "elysia";
import { AtollError } from "../base/errors.ts";
import type { Logger } from "../base/log.ts";
import type { ArtifactUpload } from "../control/artifacts/upload.ts";
import type { Control } from "../control/control.ts";
import type { Principals } from "../control/principals/principals.ts";
import { documentation } from "./documentation.ts";
import { hostApi } from "./host/host-api.ts";
import type { HostApiConfig } from "./host/host-config.ts";
import { operatorApi } from "./operator/operator-api.ts";
import type { Telemetry } from "./operator/telemetry.ts";
import { problemResponse } from "./problem.ts";

export interface ApiParts {
  readonly control: Control;
  readonly principals: Principals;
  readonly artifacts: ArtifactUpload;
  readonly host: HostApiConfig;
  readonly telemetry?: Telemetry | null;
  readonly log: Logger;
}

export interface Api {
  /** Answers every request, never rejects; what goes wrong inside becomes a problem document. */
  handle(request: Request): Promise<Response>;
}

export function createApi(parts: ApiParts): Api {
  const { log } = parts;
  const app = new Elysia({ name: "atoll-api", strictPath: true })
    .onError(({ error }) => problemResponse(error, log))
    .use(hostApi(parts))
    .use(operatorApi(parts))
    .use(documentation())
    .all("*", () => {
      throw new AtollError("not_found", "there is nothing at this path");
    });
  return {
    async handle(request) {
      try {
        return await app.handle(withLongHost(request));
      } catch (error) {
        return problemResponse(error, log);
      }
    },
  };
}

/**
 * The router looks for the path behind the eleventh character of the URL, which misses it when the host name is very
 * short or missing. The host name means nothing to these APIs, so such a request gets a longer one.
 */
function withLongHost(request: Request): Request {
  const { url } = request;
  if (url.indexOf("/", "https://".length) >= 11 && !url.startsWith("/")) return request;
  return new Request(url.replace(/^(?:https?:\/\/[^/]*)?/, "http://localhost"), request);
}
