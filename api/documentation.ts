// The pages that discovery points to. They are part of the binary, so that they exist wherever the node does.
import { Elysia } from "elysia";
import { MethodNotAllowed } from "./problem.ts";

export const HOST_API_PAGE = "/docs";
export const AUTHENTICATION_PAGE = "/docs/authentication";

const HOST_API = `# Atoll: Host API v2

This node manages Resources through the Takoform Host API v2. Discovery is at /.well-known/takoform/v2; every other
route stands under its baseUrl and needs a bearer token. How to get one: see ${AUTHENTICATION_PAGE} on this host.

Mutations carry an Idempotency-Key and are answered with an Operation. Poll it at the Location of the answer until it
has succeeded or failed. Repeat a request whose answer was lost with the same key and the same body: the node then
answers with the original Operation and does nothing twice.

Offerings are not available. GET {baseUrl}/support?form=... tells whether a Form is implemented.
`;

const AUTHENTICATION = `# Atoll: authentication

Send a token with every request: Authorization: Bearer <token>

Principals and tokens. A token belongs to a principal, a stable identity with a name of its own. A principal may have
several tokens, and an operator may add and revoke them at any time. The principal stays the same across such a
rotation: what it owns, what it may do and the Idempotency-Keys it has used are all bound to the principal and never to
a token. A request sent with an old token and repeated with a new one of the same principal finds the same Operation.

Boundary. Resources live in Spaces. Who has access to a Space has access to the Resources in it, whoever created them.
Reading, writing, and using a Resource as the target of a reference are three separate permissions that an operator
grants to a principal for each Space. What a principal may not see, it is told does not exist.

Replacement. A revoked token opens nothing from the moment of revocation; other tokens of its principal go on working.
A token of a different principal never finds Operations by the keys of the first one. When a grant is taken away,
repeating an earlier request is refused and tells nothing about its result.

The first start of a node makes the principal admin, with a token in the file admin-token of the data directory.
`;

/** Public, without authentication. */
export function documentation() {
  const app = new Elysia({ name: "documentation", strictPath: true });
  for (const [path, text] of [
    [HOST_API_PAGE, HOST_API],
    [AUTHENTICATION_PAGE, AUTHENTICATION],
  ] as const) {
    app
      .get(path, () => new Response(text, { headers: { "content-type": "text/markdown; charset=utf-8" } }))
      .all(path, () => {
        throw new MethodNotAllowed(["GET", "HEAD"]);
      });
  }
  return app;
}
