// Principals, Spaces and tokens. A principal is the stable identity; its tokens come and go (HA-114).
import type { Clock } from "../../base/clock.ts";
import { AtollError } from "../../base/errors.ts";
import { isName, type PrincipalId, type SpaceName } from "../../base/ids.ts";
import type { Random } from "../../base/random.ts";
import type { ControlStore } from "../../storage/control/control-store.ts";
import type { GrantRow, PrincipalRow, SpaceRow, TokenRow } from "../../storage/control/records.ts";
import { Caller, type Permission } from "./caller.ts";
import { mintToken, readToken, sameDigest } from "./token.ts";

export const ALL_PERMISSIONS: readonly Permission[] = ["read", "write", "use"];

/** Compared with when a token id is unknown, so that the answer takes as long. */
const NO_DIGEST = new Uint8Array(32);

export interface TokenRequest {
  readonly principal: string;
  /** Granted to the principal, beside what it has already. Each must exist. */
  readonly spaces: readonly string[];
  readonly permissions?: readonly Permission[];
  /** Makes the principal an admin. Never takes that away. */
  readonly admin?: boolean;
  readonly label?: string;
}

export interface IssuedToken {
  readonly id: string;
  readonly token: string;
  readonly principal: PrincipalId;
  readonly spaces: readonly SpaceName[];
}

export class Principals {
  readonly #store: ControlStore;
  readonly #clock: Clock;
  readonly #random: Random;

  constructor(parts: { readonly store: ControlStore; readonly clock: Clock; readonly random: Random }) {
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#random = parts.random;
  }

  /** Who presents this token; null when it is malformed, unknown or revoked. Constant time in the secret. */
  authenticate(token: string): Caller | null {
    const shown = readToken(token);
    if (shown === null) return null;
    const row = this.#store.principals.token(shown.id);
    const proven = sameDigest(shown.digest, row?.digest ?? NO_DIGEST);
    if (!proven || row === null || row.revokedAtMs !== null) return null;
    return this.#caller(row.principal);
  }

  /**
   * Make a token, and its principal where there is none yet. Throws `invalid_request` for a malformed name and
   * `not_found` for a Space that does not exist.
   */
  issue(request: TokenRequest): IssuedToken {
    const id = principalId(request.principal);
    const minted = mintToken(this.#random);
    this.#store.write(() => {
      const nowMs = this.#clock.nowMs();
      const known = this.#store.principals.get(id);
      const admin = request.admin === true || known?.admin === true;
      this.#store.principals.put({ id, admin, createdAtMs: known?.createdAtMs ?? nowMs });
      for (const name of request.spaces) this.#grant(id, name, request.permissions ?? ALL_PERMISSIONS);
      this.#store.principals.putToken({
        id: minted.id,
        principal: id,
        digest: minted.digest,
        label: request.label ?? "",
        createdAtMs: nowMs,
        revokedAtMs: null,
      });
    });
    return { id: minted.id, token: minted.text, principal: id, spaces: this.spacesOf(id) };
  }

  /** Every token, without secrets or digests. */
  tokens(): readonly Omit<TokenRow, "digest">[] {
    return this.#store.principals.tokens().map(({ id, principal, label, createdAtMs, revokedAtMs }) => {
      return { id, principal, label, createdAtMs, revokedAtMs };
    });
  }

  /** From now on the token opens nothing. Revoking twice is harmless. Throws `not_found` for an unknown id. */
  revoke(tokenId: string): void {
    const row = this.#store.principals.token(tokenId);
    if (row === null) throw new AtollError("not_found", "there is no token with this id");
    if (row.revokedAtMs !== null) return;
    this.#store.write(() => this.#store.principals.putToken({ ...row, revokedAtMs: this.#clock.nowMs() }));
  }

  /** Replace what a principal may do in one Space; nothing at all takes the grant away. */
  setGrant(principal: string, space: string, permissions: readonly Permission[]): void {
    const id = principalId(principal);
    if (this.#store.principals.get(id) === null) throw new AtollError("not_found", "there is no such principal");
    this.#store.write(() => {
      if (permissions.length === 0) this.#store.principals.dropGrant(id, this.#space(space).name);
      else this.#grant(id, space, permissions);
    });
  }

  principals(): readonly (PrincipalRow & { readonly grants: readonly GrantRow[] })[] {
    return this.#store.principals.list().map((row) => ({ ...row, grants: this.#store.principals.grantsOf(row.id) }));
  }

  /** The Spaces in which a principal may do anything at all; for an admin, every Space. */
  spacesOf(id: PrincipalId): readonly SpaceName[] {
    if (this.#store.principals.get(id)?.admin === true) return this.spaces().map((space) => space.name);
    return this.#store.principals.grantsOf(id).map((grant) => grant.space);
  }

  spaces(): readonly SpaceRow[] {
    return this.#store.principals.spaces();
  }

  /** Make a Space; one that exists stays as it is. Throws `invalid_request` for a malformed name. */
  createSpace(name: string): { readonly space: SpaceRow; readonly created: boolean } {
    if (!isName(name)) throw new AtollError("invalid_request", NAME_RULE);
    const existing = this.#store.principals.space(name);
    if (existing !== null) return { space: existing, created: false };
    const space: SpaceRow = { name: name as SpaceName, createdAtMs: this.#clock.nowMs() };
    this.#store.write(() => this.#store.principals.putSpace(space));
    return { space, created: true };
  }

  hasSpace(name: string): boolean {
    return this.#store.principals.space(name) !== null;
  }

  #caller(id: PrincipalId): Caller | null {
    const row = this.#store.principals.get(id);
    if (row === null) return null;
    return new Caller(id, row.admin, this.#store.principals.grantsOf(id));
  }

  #grant(id: PrincipalId, space: string, permissions: readonly Permission[]): void {
    this.#store.principals.putGrant({
      principal: id,
      space: this.#space(space).name,
      read: permissions.includes("read"),
      write: permissions.includes("write"),
      use: permissions.includes("use"),
    });
  }

  #space(name: string): SpaceRow {
    const row = isName(name) ? this.#store.principals.space(name) : null;
    if (row === null) {
      throw new AtollError("not_found", `there is no Space named ${isName(name) ? name : "so"}`, {
        hint: "Create the Space first.",
      });
    }
    return row;
  }
}

const NAME_RULE = "a name has 1 to 128 characters: letters, digits, '.', '_' or '-', starting with a letter or digit";

function principalId(text: string): PrincipalId {
  if (!isName(text)) throw new AtollError("invalid_request", NAME_RULE);
  return text as PrincipalId;
}
