import { AtollError } from "../base/errors.ts";
import type { Caller } from "../control/principals/caller.ts";
import type { Principals } from "../control/principals/principals.ts";

/** Who sent this request. Throws `unauthenticated` unless it carries one working bearer token (HA-44). */
export function authenticate(request: Request, principals: Principals): Caller {
  const [, token] = /^Bearer +([^ ,]+)$/i.exec(request.headers.get("authorization") ?? "") ?? [];
  const caller = token === undefined ? null : principals.authenticate(token);
  if (caller === null) throw new AtollError("unauthenticated", "send a valid token as 'Authorization: Bearer <token>'");
  return caller;
}

/** As `authenticate`, and throws `forbidden` unless the principal is an admin. */
export function authenticateAdmin(request: Request, principals: Principals): Caller {
  const caller = authenticate(request, principals);
  if (!caller.admin) throw new AtollError("forbidden", "only an admin may do this");
  return caller;
}
