import type { Clock } from "../../base/clock.ts";
import type { ControlStore } from "../../storage/control/control-store.ts";
import type { ResourceRow } from "../../storage/control/records.ts";
import type { Sealer } from "../../storage/secrets/sealer.ts";
import type { Caller } from "../principals/caller.ts";
import { openCursor, sealCursor } from "./cursor.ts";

export interface ListQuery {
  /** Exact and conjunctive; null means any (HA-83). */
  readonly space: string | null;
  readonly name: string | null;
  readonly form: string | null;
  readonly cursor: string | null;
  /** `1..maxPageSize`, checked by the caller. Not part of what a cursor is bound to (HA-A11). */
  readonly countMax: number;
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor: string | null;
}

/** Pages of the Resources a caller may read, in ascending order of UID (HA-142 … HA-145). */
export class Listing {
  readonly #parts: ListingParts;

  constructor(parts: ListingParts) {
    this.#parts = parts;
  }

  /** Throws `invalid_request` or `cursor_expired`. What the caller may not read leaves no trace (HA-50). */
  page(caller: Caller, query: ListQuery): Page<ResourceRow> {
    const { store, sealer, clock, cursorLifetimeMs } = this.#parts;
    const { space, name, form } = query;
    const scope = { principal: caller.principal, space, name, form };
    const nowMs = clock.nowMs();
    const after = query.cursor === null ? null : openCursor(sealer, scope, query.cursor, nowMs);
    // One more than asked for tells whether there is a next page.
    const found = store.resources.list({
      spaces: caller.spaces("read"),
      space,
      name,
      form,
      after,
      countMax: query.countMax + 1,
    });
    const items = found.slice(0, query.countMax);
    const last = items.at(-1);
    const more = found.length > items.length && last !== undefined;
    return { items, nextCursor: more ? sealCursor(sealer, scope, last.uid, nowMs + cursorLifetimeMs) : null };
  }
}

interface ListingParts {
  readonly store: ControlStore;
  readonly sealer: Sealer;
  readonly clock: Clock;
  /** How long a cursor works, in milliseconds. */
  readonly cursorLifetimeMs: number;
}
