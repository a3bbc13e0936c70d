import { describe, expect, test } from "bun:test";
import { type Answer, ControlRig } from "../../support/control-rig.ts";
import { KEY_VALUE_ENTRY } from "../../support/publisher/key-value-entry.ts";
import { RENDERED_GREETING } from "../../support/publisher/rendered-greeting.ts";

const outcome = (answer: Answer): readonly [number, string | undefined] => [answer.status, answer.body?.code];
const ENTRY = { form: KEY_VALUE_ENTRY, name: "a", spec: { key: "k", value: "v" } };
const DAY_MS = 24 * 60 * 60_000;

async function withEntry() {
  const rig = new ControlRig();
  const { resourceUid: uid } = await rig.settled(rig.create(ENTRY));
  return { rig, uid: uid as string };
}

describe("operations", () => {
  test("HA-9, HA-95, HA-97: accepted work has an Operation with a fixed identity", async () => {
    const rig = new ControlRig();
    const goOn = rig.backend.standStill();
    const accepted = await rig.create(ENTRY);
    expect(accepted.status).toBe(202);
    expect(accepted.body).toEqual({
      id: expect.stringMatching(/^op-/),
      resourceUid: expect.stringMatching(/^r-/),
      action: "create",
      generation: 1,
      status: "queued",
      effect: "none",
      createdAt: "2026-10-04T12:00:00.000Z",
      updatedAt: "2026-10-04T12:00:00.000Z",
      retainUntil: "2026-10-05T12:00:00.000Z",
    });
    await rig.clock.advance(1000);
    expect(await rig.operation(accepted.body.id)).toMatchObject({ status: "running", generation: 1 });
    goOn();
    await rig.settle();
    const { id, resourceUid, action, generation, createdAt } = accepted.body;
    expect(await rig.operation(id)).toEqual({
      id,
      resourceUid,
      action,
      generation,
      createdAt,
      status: "succeeded",
      effect: "complete",
      updatedAt: "2026-10-04T12:00:01.000Z",
      retainUntil: "2026-10-05T12:00:01.000Z",
    });
  });

  test("HA-9: an unknown Operation is not found", async () => {
    const rig = new ControlRig();
    expect(outcome(await rig.call("GET", "/operations/op-none"))).toEqual([404, "not_found"]);
  });

  test("HA-96: what a Form finds out after acceptance ends the Operation, not the request", async () => {
    const rig = new ControlRig();
    rig.backend.meddle("k", { owner: "somebody else", value: "x" });
    const accepted = await rig.create(ENTRY);
    expect(accepted.status).toBe(202);
    await rig.settle();
    expect(await rig.operation(accepted.body.id)).toMatchObject({
      status: "failed",
      effect: "none",
      error: { code: "key_conflict", message: expect.any(String) },
    });
  });

  test("HA-98, HA-81: reading an Operation starts and resends nothing, and time alone brings it forward", async () => {
    const rig = new ControlRig();
    rig.backend.plan("lost-before");
    const { body } = await rig.create(ENTRY);
    await rig.settle();
    for (let i = 0; i < 20; i++) await rig.operation(body.id);
    expect(rig.backend.calls).toEqual([]);
    expect(await rig.operation(body.id)).toMatchObject({ status: "reconciling" });
    await rig.clock.advance(200);
    expect(await rig.operation(body.id)).toMatchObject({ status: "succeeded" });
  });

  test("HA-102, HA-107, HA-A4: a lost answer is unknown and reconciling, with an explanation and no end", async () => {
    const rig = new ControlRig();
    rig.backend.plan("lost-after", "lost-before", "lost-before");
    const { body } = await rig.create(ENTRY);
    await rig.settle();
    const seen = await rig.operation(body.id);
    expect(seen).toMatchObject({ status: "reconciling", effect: "unknown", error: { code: "backend_uncertain" } });
    expect(seen).not.toHaveProperty("inputRequired");
    expect(await rig.resource(body.resourceUid)).toMatchObject({
      phase: "pending",
      observedGeneration: 0,
      observed: {},
    });
    await rig.clock.advance(150);
    expect(await rig.operation(body.id)).toMatchObject({ status: "reconciling" });
    await rig.clock.advance(500);
    const settled = await rig.operation(body.id);
    expect(settled).toMatchObject({ status: "succeeded", effect: "complete" });
    expect(settled).not.toHaveProperty("error");
  });

  test("HA-100, HA-169, HA-A4: work that is known not to be sent waits as running with effect none", async () => {
    const rig = new ControlRig();
    rig.backend.plan("unreachable");
    const { body } = await rig.create(ENTRY);
    await rig.settle();
    const seen = await rig.operation(body.id);
    expect(seen).toMatchObject({ status: "running", effect: "none" });
    expect(seen).not.toHaveProperty("error");
    await rig.clock.advance(200);
    expect(await rig.operation(body.id)).toMatchObject({ status: "succeeded" });
  });

  test("HA-111, HA-157: while an effect is unknown nothing else is accepted on that UID", async () => {
    const { rig, uid } = await withEntry();
    rig.backend.plan(...Array.from({ length: 50 }, () => "lost-before" as const));
    const { body } = await rig.update(uid, 1, { spec: { key: "k", value: "w" } });
    await rig.clock.advance(1000);
    expect(await rig.operation(body.id)).toMatchObject({ status: "reconciling", effect: "unknown" });
    expect(outcome(await rig.update(uid, 2, { spec: { key: "k", value: "x" } }))).toEqual([409, "resource_busy"]);
    expect(outcome(await rig.delete(uid, 2))).toEqual([409, "resource_busy"]);
  });

  test("HA-110, HA-176, HA-73: a failed update keeps old facts beside the new spec, and the UID can be cleaned up", async () => {
    const { rig, uid } = await withEntry();
    const before = await rig.resource(uid);
    await rig.clock.advance(1000);
    rig.backend.meddle("k", null);
    const failed = await rig.settled(rig.update(uid, 1, { spec: { key: "k", value: "new" } }));
    expect(failed).toMatchObject({
      status: "failed",
      effect: "none",
      generation: 2,
      error: { code: "entry_not_found" },
    });
    expect(await rig.resource(uid)).toEqual({
      ...before,
      generation: 2,
      phase: "error",
      spec: { key: "k", value: "new" },
      lastOperation: failed.id,
    });
    const removed = await rig.settled(rig.delete(uid, 2));
    expect(removed).toMatchObject({ status: "succeeded", generation: 3 });
  });

  test("HA-104, HA-176, HA-187: a partial failure is shown as such, tracked, and recovered by the same UID", async () => {
    const { rig, uid } = await withEntry();
    const spec = { source: { resourceUid: uid } };
    rig.backend.plan("torn");
    const failed = await rig.settled(rig.create({ form: RENDERED_GREETING, name: "g", spec }));
    expect(failed).toMatchObject({ status: "failed", effect: "partial", error: { code: "snapshot_incomplete" } });
    const greeting: string = failed.resourceUid;
    expect(await rig.resource(greeting)).toMatchObject({
      phase: "error",
      observedGeneration: 0,
      observed: {},
      output: {},
    });
    expect(outcome(await rig.delete(uid, 1))).toEqual([409, "dependency_conflict"]);

    expect((await rig.settled(rig.update(greeting, 1, { spec }))).status).toBe("succeeded");
    expect(await rig.resource(greeting)).toMatchObject({ phase: "idle", observedGeneration: 2, output: { text: "v" } });
    expect(rig.backend.snapshotsOf(greeting)).toHaveLength(2);
    expect((await rig.settled(rig.delete(greeting, 2))).status).toBe("succeeded");
    expect(rig.backend.snapshotsOf(greeting)).toEqual([]);
    expect((await rig.delete(uid, 1)).status).toBe(202);
  });

  test("HA-106, HA-112: success speaks of what the Form manages, and of nothing the Form does not measure", async () => {
    const { rig, uid } = await withEntry();
    expect(Object.keys(await rig.resource(uid)).sort()).toEqual(
      [
        "form",
        "generation",
        "lastOperation",
        "name",
        "observed",
        "observedAt",
        "observedGeneration",
        "output",
        "phase",
        "space",
        "spec",
        "uid",
      ].sort(),
    );
    const observed = Object.keys((await rig.resource(uid)).observed).sort();
    expect(observed).toEqual(["entryExists", "key", "value"]);
  });

  test("HA-151, HA-174: what a Form throws stays inside; the Operation tells only that the result is unknown", async () => {
    const rig = new ControlRig();
    const execute = rig.entries.execute.bind(rig.entries);
    rig.entries.execute = async () => {
      throw new Error("connect to 10.0.0.7 with password hunter2");
    };
    const { body } = await rig.create(ENTRY);
    await rig.settle();
    const { body: seen, text } = await rig.call("GET", `/operations/${body.id}`);
    expect(seen).toMatchObject({ status: "reconciling", effect: "unknown", error: { code: "internal_error" } });
    expect(text).not.toMatch(/hunter2|10\.0\.0\.7/);
    rig.entries.execute = execute;
    await rig.clock.advance(1000);
    expect((await rig.operation(body.id)).status).toBe("succeeded");
  });
});

describe("retention", () => {
  test("HA-123, HA-125: retention starts at acceptance, and once more at the end", async () => {
    const rig = new ControlRig();
    const goOn = rig.backend.standStill();
    const { body } = await rig.create(ENTRY);
    expect(body.retainUntil).toBe("2026-10-05T12:00:00.000Z");
    await rig.clock.advance(1000);
    goOn();
    await rig.settle();
    expect((await rig.operation(body.id)).retainUntil).toBe("2026-10-05T12:00:01.000Z");
  });

  test("HA-125, HA-126, HA-74: the match holds to the last instant, then Operation and key go together", async () => {
    const rig = new ControlRig();
    const headers = { "idempotency-key": "kept-for-one-window-only" };
    const { id, resourceUid } = await rig.settled(rig.create(ENTRY, { headers }));
    await rig.clock.advance(DAY_MS);
    expect((await rig.create(ENTRY, { headers })).body.id).toBe(id);
    await rig.clock.advance(2 * 60_000);
    expect((await rig.call("GET", `/operations/${id}`)).status).toBe(404);
    expect((await rig.resource(resourceUid)).lastOperation).toBe(id);
    expect(outcome(await rig.create(ENTRY, { headers }))).toEqual([409, "name_conflict"]);
  });

  test("HA-125: a mere replay does not extend what is kept", async () => {
    const rig = new ControlRig();
    const headers = { "idempotency-key": "replayed-half-way-through" };
    const { retainUntil } = await rig.settled(rig.create(ENTRY, { headers }));
    await rig.clock.advance(DAY_MS / 2);
    expect((await rig.create(ENTRY, { headers })).body.retainUntil).toBe(retainUntil);
  });

  test("HA-124, HA-A19: an unfinished Operation outlives its deadline and never promises the past", async () => {
    const rig = new ControlRig();
    const goOn = rig.backend.standStill();
    const headers = { "idempotency-key": "still-running-after-days" };
    const { body } = await rig.create(ENTRY, { headers });
    await rig.clock.advance(3 * DAY_MS);
    const seen = await rig.operation(body.id);
    expect(seen.status).toBe("running");
    expect(Date.parse(seen.retainUntil)).toBeGreaterThan(rig.clock.nowMs());
    expect((await rig.create(ENTRY, { headers })).body.id).toBe(body.id);
    goOn();
    await rig.settle();
    const settled = await rig.operation(body.id);
    expect(Date.parse(settled.retainUntil)).toBeGreaterThanOrEqual(rig.clock.nowMs() + DAY_MS);
  });

  test("HA-43: a shorter window later takes nothing from what was promised", async () => {
    const rig = new ControlRig();
    const headers = { "idempotency-key": "accepted-under-a-long-window" };
    const { id } = await rig.settled(rig.create(ENTRY, { headers }));
    await rig.control.stop();
    const short = rig.restart({ config: { replayWindowMs: 60_000 } });
    await short.clock.advance(DAY_MS - 60_000);
    expect((await short.create(ENTRY, { headers })).body.id).toBe(id);
  });

  test("HA-82: a deletion is remembered while its Operation is, and then forgotten", async () => {
    const { rig, uid } = await withEntry();
    await rig.settled(rig.delete(uid, 1));
    await rig.clock.advance(DAY_MS - 60_000);
    expect((await rig.call("GET", `/resources/${uid}`)).status).toBe(410);
    await rig.clock.advance(3 * 60_000);
    expect((await rig.call("GET", `/resources/${uid}`)).status).toBe(404);
  });
});
