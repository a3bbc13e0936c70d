import type { Api, ApiParts } from "./server.ts";

/**
 * The APIs, loaded at the first request for them. Their framework is most of the code of a node, and a node that starts
 * on what it already knows answers tenants without it: ready sooner, and smaller while nobody manages it.
 */
export function lazyApi(parts: ApiParts): Api {
  let loading: Promise<Api> | null = null;
  return {
    async handle(request) {
      loading ??= import("./server.ts").then(({ createApi }) => createApi(parts));
      return (await loading).handle(request);
    },
  };
}
