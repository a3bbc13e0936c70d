import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { AtollError } from "../../../../base/errors.ts";
import type { PrincipalId } from "../../../../base/ids.ts";
import { SystemRandom } from "../../../../base/random.ts";
import { type CursorScope, openCursor, sealCursor } from "../../../../control/resources/cursor.ts";
import { Sealer } from "../../../../storage/secrets/sealer.ts";

const sealer = new Sealer(new Uint8Array(32).fill(1), "cursor", new SystemRandom());
const text = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,20}$/);
const scope: fc.Arbitrary<CursorScope> = fc.record({
  principal: text.map((id) => id as PrincipalId),
  space: fc.option(text),
  name: fc.option(text),
  form: fc.option(fc.webUrl()),
});

/** What opening gives: the identifier, or the code of the refusal. */
function open(within: CursorScope, cursor: string, nowMs: number): string {
  try {
    return openCursor(sealer, within, cursor, nowMs);
  } catch (error) {
    if (error instanceof AtollError) return error.code;
    throw error;
  }
}

describe("cursors", () => {
  test("HA-144: a cursor opens for its scope and before its end, and for nothing else", () => {
    fc.assert(
      fc.property(scope, scope, text, fc.nat(), (mine, other, after, expiresAtMs) => {
        const cursor = sealCursor(sealer, mine, after, expiresAtMs);
        expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/);
        expect(open(mine, cursor, expiresAtMs - 1)).toBe(after);
        expect(open(mine, cursor, expiresAtMs)).toBe("cursor_expired");
        if (JSON.stringify(mine) !== JSON.stringify(other)) expect(open(other, cursor, 0)).toBe("invalid_request");
      }),
    );
  });

  test("HA-144: absence of a filter differs from every value of it, nor do values move between filters", () => {
    const principal = "p" as PrincipalId;
    const scopes: CursorScope[] = [
      { principal, space: null, name: null, form: null },
      { principal, space: "", name: null, form: null },
      { principal, space: "null", name: null, form: null },
      { principal, space: "a", name: null, form: null },
      { principal, space: null, name: "a", form: null },
      { principal, space: "a", name: "a", form: null },
    ];
    for (const mine of scopes) {
      const cursor = sealCursor(sealer, mine, "r-1", 10);
      expect(scopes.filter((other) => open(other, cursor, 0) === "r-1")).toEqual([mine]);
    }
  });

  test("HA-A10: any other text is refused without an exception of another kind", () => {
    const mine: CursorScope = { principal: "p" as PrincipalId, space: null, name: null, form: null };
    const foreign = new Sealer(new Uint8Array(32).fill(2), "cursor", new SystemRandom());
    expect(open(mine, sealCursor(foreign, mine, "r-1", 10), 0)).toBe("invalid_request");
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String(), fc.string({ unit: "binary" })), (garbage) => {
        expect(open(mine, garbage, 0)).toBe("invalid_request");
      }),
    );
  });
});
