/** HA-17, HA-A14: on every response but discovery. */
export const NO_STORE = { "cache-control": "no-store" } as const;

/** A JSON success (HA-16). */
export function jsonResponse(body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { "content-type": "application/json", ...NO_STORE, ...headers },
  });
}
