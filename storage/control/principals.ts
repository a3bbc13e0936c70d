// Principals, Spaces, what a principal may do in a Space, and the digests of tokens.
import { and, asc, eq } from "drizzle-orm";
import type { PrincipalId, SpaceName } from "../../base/ids.ts";
import type { GrantRow, PrincipalRow, SpaceRow, TokenRow } from "./records.ts";
import { grant, principal, space, token } from "./schema.ts";
import { type Db, given, prepareUpsert } from "./statements.ts";

export class PrincipalTable {
  readonly #statements;

  constructor(db: Db) {
    this.#statements = prepare(db);
  }

  get(id: string): PrincipalRow | null {
    return this.#statements.principal.get({ id }) ?? null;
  }

  list(): readonly PrincipalRow[] {
    return this.#statements.principals.all();
  }

  put(row: PrincipalRow): void {
    this.#statements.putPrincipal(row);
  }

  space(name: string): SpaceRow | null {
    return this.#statements.space.get({ name }) ?? null;
  }

  spaces(): readonly SpaceRow[] {
    return this.#statements.spaces.all();
  }

  putSpace(row: SpaceRow): void {
    this.#statements.putSpace(row);
  }

  grantsOf(id: PrincipalId): readonly GrantRow[] {
    return this.#statements.grants.all({ principal: id });
  }

  putGrant(row: GrantRow): void {
    this.#statements.putGrant(row);
  }

  dropGrant(id: PrincipalId, spaceName: SpaceName): void {
    this.#statements.dropGrant.run({ principal: id, space: spaceName });
  }

  token(id: string): TokenRow | null {
    return this.#statements.token.get({ id }) ?? null;
  }

  /** Oldest first, revoked ones included. */
  tokens(): readonly TokenRow[] {
    return this.#statements.tokens.all();
  }

  putToken(row: TokenRow): void {
    this.#statements.putToken(row);
  }
}

function prepare(db: Db) {
  return {
    principal: db
      .select()
      .from(principal)
      .where(eq(principal.id, given("id")))
      .prepare(),
    principals: db.select().from(principal).orderBy(asc(principal.id)).prepare(),
    putPrincipal: prepareUpsert(db, principal, [principal.id]),
    space: db
      .select()
      .from(space)
      .where(eq(space.name, given("name")))
      .prepare(),
    spaces: db.select().from(space).orderBy(asc(space.name)).prepare(),
    putSpace: prepareUpsert(db, space, [space.name]),
    grants: db
      .select()
      .from(grant)
      .where(eq(grant.principal, given("principal")))
      .orderBy(asc(grant.space))
      .prepare(),
    putGrant: prepareUpsert(db, grant, [grant.principal, grant.space]),
    dropGrant: db
      .delete(grant)
      .where(and(eq(grant.principal, given("principal")), eq(grant.space, given("space"))))
      .prepare(),
    token: db
      .select()
      .from(token)
      .where(eq(token.id, given("id")))
      .prepare(),
    tokens: db.select().from(token).orderBy(asc(token.createdAtMs), asc(token.id)).prepare(),
    putToken: prepareUpsert(db, token, [token.id]),
  };
}
