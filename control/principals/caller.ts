// Who calls, and what they may do. Built afresh for every request, so a revoked grant counts at once (HA-45, HA-120).
import type { PrincipalId, SpaceName } from "../../base/ids.ts";
import type { GrantRow } from "../../storage/control/records.ts";

/** Reading, writing and naming a Resource as the target of a reference are three permissions (HA-46). */
export type Permission = "read" | "write" | "use";

export class Caller {
  /** The stable identity behind the credential (HA-114). */
  readonly principal: PrincipalId;
  /** May do everything in every Space, and use the operator API. */
  readonly admin: boolean;
  readonly #grants: ReadonlyMap<SpaceName, GrantRow>;

  constructor(principal: PrincipalId, admin: boolean, grants: readonly GrantRow[]) {
    this.principal = principal;
    this.admin = admin;
    this.#grants = new Map(grants.map((grant) => [grant.space, grant]));
  }

  may(permission: Permission, space: SpaceName): boolean {
    return this.admin || this.#grants.get(space)?.[permission] === true;
  }

  /** Whether the Space's existence is no secret to the caller. */
  knows(space: SpaceName): boolean {
    const grant = this.#grants.get(space);
    return this.admin || (grant !== undefined && (grant.read || grant.write || grant.use));
  }

  /** The Spaces with this permission; null means every Space. */
  spaces(permission: Permission): readonly SpaceName[] | null {
    if (this.admin) return null;
    return [...this.#grants.values()].filter((grant) => grant[permission]).map((grant) => grant.space);
  }
}
