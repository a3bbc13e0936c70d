// Cursors: where a walk through a list goes on. Sealed, so a client can neither read nor forge one, and bound to the
// filters and the principal of its walk, so it opens nowhere else (HA-144).
import { AtollError } from "../../base/errors.ts";
import type { PrincipalId } from "../../base/ids.ts";
import type { Sealer } from "../../storage/secrets/sealer.ts";

export interface CursorScope {
  readonly principal: PrincipalId;
  readonly space: string | null;
  readonly name: string | null;
  readonly form: string | null;
}

const CURSOR_CHARS_MAX = 1024;

/** A cursor that goes on behind `after` and works until `expiresAtMs`. */
export function sealCursor(sealer: Sealer, scope: CursorScope, after: string, expiresAtMs: number): string {
  const plain = new TextEncoder().encode(JSON.stringify([after, expiresAtMs]));
  return Buffer.from(sealer.seal(plain, aboutScope(scope)).bytes).toString("base64url");
}

/**
 * The identifier to go on behind. Throws `invalid_request` for what is no cursor of this Host, this principal and these
 * filters, and `cursor_expired` for one that is too old.
 */
export function openCursor(sealer: Sealer, scope: CursorScope, cursor: string, nowMs: number): string {
  const wellFormed = cursor.length <= CURSOR_CHARS_MAX && /^[A-Za-z0-9_-]+$/.test(cursor);
  const bytes = wellFormed ? Buffer.from(cursor, "base64url") : null;
  const plain = bytes === null ? null : sealer.unseal({ keyId: sealer.keyId, bytes }, aboutScope(scope));
  if (plain === null) {
    throw new AtollError("invalid_request", "the cursor does not belong to this list, its filters and this principal");
  }
  const [after, expiresAtMs] = JSON.parse(new TextDecoder().decode(plain)) as [string, number];
  if (expiresAtMs <= nowMs) {
    throw new AtollError("cursor_expired", "the cursor has expired", { hint: "Start again from the first page." });
  }
  return after;
}

function aboutScope(scope: CursorScope): string {
  return JSON.stringify([scope.principal, scope.space, scope.name, scope.form]);
}
