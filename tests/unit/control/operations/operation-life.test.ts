import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { InvariantViolation } from "../../../../base/invariant.ts";
import type { OperationId, PrincipalId, ResourceUid, SpaceName } from "../../../../base/ids.ts";
import type { OperationRow, OperationStatus } from "../../../../storage/control/records.ts";
import { next, type OperationChange, type OperationLife } from "../../../../control/operations/operation-life.ts";
import { changed, lifeOf } from "../../../../control/operations/operation-record.ts";

/** The contract's own table (HA-99 … HA-105), written down a second time. */
const ALLOWED: Readonly<Record<OperationStatus, readonly OperationStatus[]>> = {
  queued: ["running", "waiting_input"],
  running: ["succeeded", "failed", "reconciling", "waiting_input"],
  waiting_input: ["queued"],
  reconciling: ["running", "succeeded", "failed"],
  succeeded: [],
  failed: [],
};

const error = { code: "some_code", message: "some message" };
const change: fc.Arbitrary<OperationChange> = fc.oneof(
  fc.constant<OperationChange>({ type: "begin" }),
  fc
    .constantFrom("expired" as const, "unavailable" as const)
    .map((reason) => ({ type: "need_input" as const, reason })),
  fc.constant<OperationChange>({ type: "replenish" }),
  fc
    .constantFrom("none" as const, "partial" as const, "unknown" as const)
    .map((effect) => ({ type: "note" as const, effect })),
  fc
    .tuple(fc.constantFrom("none" as const, "partial" as const, "unknown" as const), fc.constantFrom(null, error))
    .map(([effect, error]) => ({ type: "doubt" as const, effect, error })),
  fc.constantFrom("none" as const, "partial" as const).map((effect) => ({ type: "resume" as const, effect })),
  fc.constant<OperationChange>({ type: "succeed" }),
  fc.constantFrom("none" as const, "partial" as const).map((effect) => ({ type: "fail" as const, effect, error })),
);

const QUEUED: OperationLife = { status: "queued", effect: "none" };

/** Applies what is legal and skips what is not; returns every state on the way. */
function walk(changes: readonly OperationChange[]): readonly OperationLife[] {
  const states: OperationLife[] = [QUEUED];
  for (const step of changes) {
    try {
      states.push(next(states.at(-1) ?? QUEUED, step));
    } catch (reason) {
      expect(reason).toBeInstanceOf(InvariantViolation);
    }
  }
  return states;
}

describe("the life of an Operation", () => {
  test("HA-105: no sequence of changes makes a transition that the contract does not list", () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
        const states = walk(changes);
        for (let i = 1; i < states.length; i++) {
          const [from, to] = [states[i - 1], states[i]];
          if (from === undefined || to === undefined || from.status === to.status) continue;
          expect(ALLOWED[from.status]).toContain(to.status);
        }
      }),
      { numRuns: 2000 },
    );
  });

  test("HA-99 … HA-104: effect, error and wanted input fit the status in every reachable state", () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
        for (const life of walk(changes)) {
          if (life.status === "succeeded") expect(life.effect).toBe("complete");
          else expect(life.effect as string).not.toBe("complete");
          if (life.status === "failed" || life.status === "waiting_input")
            expect(life.effect as string).not.toBe("unknown");
          expect("reason" in life).toBe(life.status === "waiting_input");
          if (life.status === "failed") expect(life.error).toEqual(error);
          if (life.status !== "failed" && life.status !== "reconciling") expect("error" in life).toBe(false);
        }
      }),
      { numRuns: 2000 },
    );
  });

  test("HA-103, HA-104: nothing leads out of a terminal state", () => {
    const terminal: readonly OperationLife[] = [
      { status: "succeeded", effect: "complete" },
      { status: "failed", effect: "partial", error },
    ];
    fc.assert(
      fc.property(fc.constantFrom(...terminal), change, (life, step) => {
        expect(() => next(life, step)).toThrow(InvariantViolation);
      }),
    );
  });

  test("HA-101, HA-109: a running step whose dispatch is uncertain cannot wait for input", () => {
    const running: OperationLife = { status: "running", effect: "unknown" };
    expect(() => next(running, { type: "need_input", reason: "expired" })).toThrow(InvariantViolation);
    const known = next(running, { type: "note", effect: "partial" });
    expect(next(known, { type: "need_input", reason: "expired" })).toEqual({
      status: "waiting_input",
      effect: "partial",
      reason: "expired",
    });
  });

  test("every allowed transition can really happen", () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(fc.array(change, { minLength: 5, maxLength: 60 }), (changes) => {
        const states = walk(changes);
        for (let i = 1; i < states.length; i++) seen.add(`${states[i - 1]?.status}>${states[i]?.status}`);
      }),
      { numRuns: 3000, seed: 1 },
    );
    const wanted = Object.entries(ALLOWED).flatMap(([from, to]) => to.map((status) => `${from}>${status}`));
    expect(wanted.filter((transition) => !seen.has(transition))).toEqual([]);
  });
});

const WINDOW_MS = 1000;
const ROW: OperationRow = {
  id: "op-1" as OperationId,
  resourceUid: "r-1" as ResourceUid,
  space: "default" as SpaceName,
  principal: "p" as PrincipalId,
  action: "create",
  generation: 1,
  status: "queued",
  effect: "none",
  createdAtMs: 0,
  updatedAtMs: 0,
  retainUntilMs: WINDOW_MS,
  windowMs: WINDOW_MS,
  errorCode: null,
  errorMessage: null,
  inputReason: null,
  inputNames: null,
  attempt: "idle",
};

describe("the record of an Operation", () => {
  test("a row that says what no life can say is damage", () => {
    for (const damage of [
      { status: "succeeded", effect: "partial" },
      { status: "failed", effect: "none" },
      { status: "waiting_input", effect: "none" },
      { status: "queued", effect: "unknown" },
      { status: "running", effect: "complete" },
    ] as const) {
      expect(() => lifeOf({ ...ROW, ...damage })).toThrow(InvariantViolation);
    }
  });

  test("HA-123, HA-A19: an unfinished Operation keeps its promise and moves it only when it would lie in the past", () => {
    const begun = changed(ROW, { type: "begin" }, 10, WINDOW_MS);
    expect(begun).toMatchObject({ status: "running", updatedAtMs: 10, retainUntilMs: WINDOW_MS });
    const doubted = changed(begun, { type: "doubt", effect: "unknown", error: null }, 1500, WINDOW_MS);
    expect(doubted).toMatchObject({ status: "reconciling", retainUntilMs: 1500 + WINDOW_MS });
  });

  test("HA-125, HA-43: settling adds a full window, the longer of the promised and today's", () => {
    const begun = changed(ROW, { type: "begin" }, 10, WINDOW_MS);
    expect(changed(begun, { type: "succeed" }, 900, WINDOW_MS).retainUntilMs).toBe(1900);
    expect(changed(begun, { type: "succeed" }, 900, 10).retainUntilMs).toBe(1900);
    expect(changed(begun, { type: "succeed" }, 900, 5000).retainUntilMs).toBe(5900);
  });

  test("HA-108: the explanation of a reconciling Operation goes when it goes on", () => {
    const begun = changed(ROW, { type: "begin" }, 1, WINDOW_MS);
    const doubted = changed(begun, { type: "doubt", effect: "unknown", error }, 2, WINDOW_MS);
    expect(doubted).toMatchObject({ errorCode: error.code, errorMessage: error.message });
    expect(changed(doubted, { type: "resume", effect: "none" }, 3, WINDOW_MS).errorCode).toBeNull();
  });

  test("a clock that steps back does not take updatedAt back", () => {
    expect(changed({ ...ROW, updatedAtMs: 500 }, { type: "begin" }, 100, WINDOW_MS).updatedAtMs).toBe(500);
  });
});
