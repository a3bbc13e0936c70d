import { describe, expect, test } from "bun:test";
import { type Answer, ControlRig } from "../../support/control-rig.ts";
import { KEY_VALUE_ENTRY } from "../../support/publisher/key-value-entry.ts";
import { RENDERED_GREETING } from "../../support/publisher/rendered-greeting.ts";

const outcome = (answer: Answer): readonly [number, string | undefined] => [answer.status, answer.body?.code];
const ENTRY = { form: KEY_VALUE_ENTRY, name: "a", spec: { key: "k", value: "v" } };

async function withEntry() {
  const rig = new ControlRig();
  const { resourceUid: uid } = await rig.settled(rig.create(ENTRY));
  return { rig, uid: uid as string };
}

describe("create", () => {
  test("HA-4, HA-66, HA-78, HA-80: acceptance shows the whole record before anything ran", async () => {
    const rig = new ControlRig();
    rig.backend.standStill();
    const { status, body } = await rig.create(ENTRY);
    expect(status).toBe(202);
    expect(await rig.resource(body.resourceUid)).toEqual({
      uid: body.resourceUid,
      form: KEY_VALUE_ENTRY,
      space: "default",
      name: "a",
      generation: 1,
      observedGeneration: 0,
      observedAt: null,
      phase: "pending",
      spec: ENTRY.spec,
      observed: {},
      output: {},
      lastOperation: body.id,
    });
    expect(rig.backend.calls).toEqual([]);
  });

  test("HA-71, HA-72, HA-73, HA-184: success is observed, dated and idle", async () => {
    const { rig, uid } = await withEntry();
    expect(await rig.resource(uid)).toMatchObject({
      phase: "idle",
      generation: 1,
      observedGeneration: 1,
      observedAt: "2026-10-04T12:00:00.000Z",
      observed: { entryExists: true, key: "k", value: "v" },
    });
  });

  test("HA-79, HA-68, HA-157: a taken name is refused, whatever the Form, and nothing is replaced", async () => {
    const { rig, uid } = await withEntry();
    const again = await rig.create({ ...ENTRY, spec: { key: "other", value: "v" } });
    expect(outcome(again)).toEqual([409, "name_conflict"]);
    const otherForm = { form: RENDERED_GREETING, name: "a", spec: { source: { resourceUid: uid } } };
    expect(outcome(await rig.create(otherForm))).toEqual([409, "name_conflict"]);
    expect((await rig.resource(uid)).generation).toBe(1);
    expect((await rig.call("GET", "/resources")).body.items).toHaveLength(1);
  });

  test("HA-77, HA-59, HA-164, HA-183: an unsupported Form is refused without a trace", async () => {
    const rig = new ControlRig();
    const answer = await rig.create({ ...ENTRY, form: `${KEY_VALUE_ENTRY}/` });
    expect(outcome(answer)).toEqual([422, "unsupported_form"]);
    expect((await rig.call("GET", "/resources")).body.items).toEqual([]);
    expect((await rig.create(ENTRY)).status).toBe(202);
  });

  test("HA-77, HA-57: a spec that its Form refuses changes nothing, and the message names the field", async () => {
    const rig = new ControlRig();
    for (const spec of [
      {},
      { key: "k" },
      { key: "", value: "v" },
      { key: "k", value: null },
      { key: "k", value: "v", x: 1 },
    ]) {
      const answer = await rig.create({ ...ENTRY, spec });
      expect(outcome(answer)).toEqual([422, "invalid_spec"]);
      expect(answer.body.detail).toContain("spec");
    }
    await rig.settle();
    expect(rig.backend.calls).toEqual([]);
    expect((await rig.call("GET", "/resources")).body.items).toEqual([]);
  });

  test("HA-A17, HA-110: a failed create keeps its name until it is deleted", async () => {
    const rig = new ControlRig();
    rig.backend.meddle("k", { owner: "somebody else", value: "x" });
    const failed = await rig.settled(rig.create(ENTRY));
    expect(failed).toMatchObject({ status: "failed", effect: "none", error: { code: "key_conflict" } });
    const free = { ...ENTRY, spec: { key: "free", value: "v" } };
    expect(outcome(await rig.create(free))).toEqual([409, "name_conflict"]);
    await rig.settled(rig.delete(failed.resourceUid, 1));
    expect((await rig.settled(rig.create(free))).status).toBe("succeeded");
  });

  test("HA-60, HA-3: without Offerings no body mentions them, and their route is not there", async () => {
    const { rig, uid } = await withEntry();
    expect(await rig.resource(uid)).not.toHaveProperty("offering");
    expect(outcome(await rig.call("GET", "/offerings?form=x&space=y"))).toEqual([404, "capability_unavailable"]);
  });
});

describe("read", () => {
  test("HA-5, HA-82: an unknown UID is not found, a deleted one is gone, a missing backend object is neither", async () => {
    const { rig, uid } = await withEntry();
    expect(outcome(await rig.call("GET", "/resources/r-none"))).toEqual([404, "not_found"]);
    rig.backend.meddle("k", null);
    expect((await rig.call("GET", `/resources/${uid}`)).status).toBe(200);
    await rig.settled(rig.delete(uid, 1));
    expect(outcome(await rig.call("GET", `/resources/${uid}`))).toEqual([410, "gone"]);
  });

  test("HA-81: reading any number of times calls no backend and moves nothing", async () => {
    const { rig, uid } = await withEntry();
    const before = await rig.resource(uid);
    const calls = rig.backend.calls.length;
    await rig.clock.advance(5000);
    for (let i = 0; i < 20; i++) await rig.call("GET", `/resources/${uid}`);
    expect(await rig.resource(uid)).toEqual(before);
    expect(rig.backend.calls).toHaveLength(calls);
  });

  test("HA-75, HA-132: bookkeeping, owners and attempts stay inside", async () => {
    const { rig, uid } = await withEntry();
    const resource = await rig.call("GET", `/resources/${uid}`);
    const operation = await rig.call("GET", `/operations/${resource.body.lastOperation}`);
    for (const { text } of [resource, operation]) {
      expect(text).not.toMatch(/backend|owner|principal|attempt|fingerprint/i);
    }
  });
});

describe("update", () => {
  test("HA-7, HA-70, HA-71, HA-75: the new spec shows at once, the old observation keeps its own generation", async () => {
    const { rig, uid } = await withEntry();
    const goOn = rig.backend.standStill();
    await rig.clock.advance(1000);
    const accepted = await rig.update(uid, 1, { spec: { key: "k", value: "new" } });
    expect(accepted.body).toMatchObject({ action: "update", generation: 2, resourceUid: uid });
    expect(await rig.resource(uid)).toMatchObject({
      phase: "pending",
      generation: 2,
      observedGeneration: 1,
      observedAt: "2026-10-04T12:00:00.000Z",
      spec: { key: "k", value: "new" },
      observed: { entryExists: true, value: "v" },
    });
    goOn();
    await rig.settle();
    expect(await rig.resource(uid)).toMatchObject({
      phase: "idle",
      observedGeneration: 2,
      observedAt: "2026-10-04T12:00:01.000Z",
      observed: { value: "new" },
    });
  });

  test("HA-84: a spec replaces, it does not patch", async () => {
    const { rig, uid } = await withEntry();
    expect(outcome(await rig.update(uid, 1, { spec: { value: "only" } }))).toEqual([422, "invalid_spec"]);
  });

  test("HA-88: an identical spec under a new key is a new update and really reconciled", async () => {
    const { rig, uid } = await withEntry();
    rig.backend.meddle("k", { owner: uid, value: "drifted" });
    const operation = await rig.settled(rig.update(uid, 1, { spec: ENTRY.spec }));
    expect(operation).toMatchObject({ status: "succeeded", generation: 2 });
    expect(rig.backend.entry("k")?.value).toBe("v");
  });

  test("HA-172, HA-69, HA-89: a changed immutable field is refused before any effect", async () => {
    const { rig, uid } = await withEntry();
    const calls = rig.backend.calls.length;
    expect(outcome(await rig.update(uid, 1, { spec: { key: "k2", value: "v" } }))).toEqual([422, "invalid_spec"]);
    for (const extra of [{ name: "b" }, { form: KEY_VALUE_ENTRY }, { space: "default" }, { offering: {} }]) {
      const answer = await rig.update(uid, 1, { spec: ENTRY.spec, ...extra });
      expect(outcome(answer)).toEqual([400, "invalid_request"]);
    }
    await rig.settle();
    expect(rig.backend.calls).toHaveLength(calls);
    expect((await rig.resource(uid)).generation).toBe(1);
  });

  test("HA-86: a PUT creates nothing", async () => {
    const rig = new ControlRig();
    expect(outcome(await rig.update("r-new", 1, { spec: ENTRY.spec }))).toEqual([404, "not_found"]);
  });

  test("HA-87, HA-157, HA-185: a stale generation is refused, with an old and with a future number", async () => {
    const { rig, uid } = await withEntry();
    await rig.settled(rig.update(uid, 1, { spec: ENTRY.spec }));
    for (const generation of [0, 1, 3]) {
      const answer = await rig.update(uid, generation, { spec: ENTRY.spec });
      expect(outcome(answer)).toEqual([409, "generation_conflict"]);
    }
    expect((await rig.resource(uid)).generation).toBe(2);
  });

  test("HA-87, HA-A3: one unfinished mutation at a time; busy comes before stale", async () => {
    const { rig, uid } = await withEntry();
    rig.backend.standStill();
    await rig.update(uid, 1, { spec: ENTRY.spec });
    for (const generation of [1, 2, 7]) {
      expect(outcome(await rig.update(uid, generation, { spec: ENTRY.spec }))).toEqual([409, "resource_busy"]);
      expect(outcome(await rig.delete(uid, generation))).toEqual([409, "resource_busy"]);
    }
  });

  test("HA-20, HA-A18: a generation at the top is refused instead of wrapping", async () => {
    const { rig, uid } = await withEntry();
    const row = rig.store.resources.get(uid);
    if (row === null) throw new Error("no row");
    const top = Number.MAX_SAFE_INTEGER;
    rig.store.write(() => rig.store.resources.put({ ...row, generation: top, observedGeneration: top }));
    expect((await rig.update(uid, top, { spec: ENTRY.spec })).status).toBe(409);
    expect((await rig.delete(uid, top)).status).toBe(409);
    expect((await rig.resource(uid)).generation).toBe(top);
  });
});

describe("delete", () => {
  test("HA-8, HA-90, HA-91, HA-93: the record and its name stay until the end, then both go", async () => {
    const { rig, uid } = await withEntry();
    const goOn = rig.backend.standStill();
    const accepted = await rig.delete(uid, 1);
    expect(accepted.body).toMatchObject({ action: "delete", generation: 2 });
    expect(await rig.resource(uid)).toMatchObject({ phase: "deleting", generation: 2, observedGeneration: 1 });
    expect(outcome(await rig.create(ENTRY))).toEqual([409, "name_conflict"]);
    goOn();
    await rig.settle();
    expect((await rig.call("GET", "/resources")).body.items).toEqual([]);
    expect(await rig.operation(accepted.body.id)).toMatchObject({ status: "succeeded", effect: "complete" });
    expect(rig.backend.entry("k")).toBeNull();
  });

  test("HA-67: a name used again gets another UID, and the old one does not reach it", async () => {
    const { rig, uid } = await withEntry();
    await rig.settled(rig.delete(uid, 1));
    const again = await rig.settled(rig.create(ENTRY));
    expect(again.resourceUid).not.toBe(uid);
    expect((await rig.update(uid, 1, { spec: ENTRY.spec })).status).toBe(410);
    expect((await rig.delete(uid, 2)).status).toBe(410);
  });

  test("HA-94, HA-117, HA-161: afterwards the original key finds its Operation, another key finds nothing", async () => {
    const { rig, uid } = await withEntry();
    const headers = { "idempotency-key": "the-key-of-the-deletion" };
    const accepted = await rig.delete(uid, 1, { headers });
    await rig.settle();
    const replay = await rig.delete(uid, 1, { headers });
    expect([replay.status, replay.body.id]).toEqual([200, accepted.body.id]);
    expect(outcome(await rig.delete(uid, 1))).toEqual([410, "gone"]);
    expect(outcome(await rig.delete(uid, 1, { headers: { "idempotency-key": "some-other-key-0123" } }))).toEqual([
      410,
      "gone",
    ]);
  });

  test("HA-92, HA-158, HA-177: a referred-to Resource is not deleted, and nothing cascades", async () => {
    const { rig, uid } = await withEntry();
    const greeting = await rig.settled(
      rig.create({ form: RENDERED_GREETING, name: "g", spec: { source: { resourceUid: uid } } }),
    );
    const refused = await rig.delete(uid, 1);
    expect(outcome(refused)).toEqual([409, "dependency_conflict"]);
    expect(await rig.resource(uid)).toMatchObject({ generation: 1, phase: "idle" });
    await rig.settled(rig.delete(greeting.resourceUid, 1));
    expect((await rig.settled(rig.delete(uid, 1))).status).toBe("succeeded");
  });

  test("HA-92, HA-173: only what the Form owns is removed, and confirmed absence is success", async () => {
    const { rig, uid } = await withEntry();
    rig.backend.meddle("k", { owner: "somebody else", value: "theirs" });
    expect((await rig.settled(rig.delete(uid, 1))).status).toBe("succeeded");
    expect(rig.backend.entry("k")).toEqual({ owner: "somebody else", value: "theirs" });
  });

  test("HA-177: a Resource that is being deleted takes no new references", async () => {
    const { rig, uid } = await withEntry();
    rig.backend.standStill();
    await rig.delete(uid, 1);
    const answer = await rig.create({ form: RENDERED_GREETING, name: "g", spec: { source: { resourceUid: uid } } });
    expect(outcome(answer)).toEqual([409, "dependency_conflict"]);
  });
});
