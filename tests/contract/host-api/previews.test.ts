import { describe, expect, test } from "bun:test";
import { type Answer, type CallOptions, ControlRig } from "../../support/control-rig.ts";
import { KEY_VALUE_ENTRY } from "../../support/publisher/key-value-entry.ts";
import { RENDERED_GREETING } from "../../support/publisher/rendered-greeting.ts";

const outcome = (answer: Answer): readonly [number, string | undefined] => [answer.status, answer.body?.code];
const ENTRY = { form: KEY_VALUE_ENTRY, space: "default", name: "a", spec: { key: "k", value: "v" } };
const VALID = { valid: true, errors: [] };

const preview = (rig: ControlRig, json: unknown, options: CallOptions = {}) =>
  rig.call("POST", "/previews", { ...options, json });
const create = (input: object) => ({ action: "create", input });

async function withEntry() {
  const rig = new ControlRig();
  const { resourceUid: uid } = await rig.settled(rig.create(ENTRY));
  return { rig, uid: uid as string };
}

/** A 200 with exactly one error of this code and a message. */
function expectInvalid(answer: Answer, code: string): void {
  expect(answer.status).toBe(200);
  expect(answer.body).toEqual({ valid: false, errors: [{ code, message: expect.any(String) }] });
}

describe("previews", () => {
  test("HA-11, HA-146: valid input of each kind is valid without errors", async () => {
    const { rig, uid } = await withEntry();
    const update = { action: "update", uid, expectedGeneration: 1, input: { spec: { key: "k", value: "w" } } };
    for (const json of [create({ ...ENTRY, name: "b" }), update, { action: "delete", uid, expectedGeneration: 1 }]) {
      const answer = await preview(rig, json);
      expect([answer.status, answer.body]).toEqual([200, VALID]);
    }
  });

  test("HA-146, HA-147: nothing is left behind, however often one asks", async () => {
    const { rig, uid } = await withEntry();
    const resource = await rig.resource(uid);
    const calls = rig.backend.calls.length;
    const operations = rig.store.operations.countUnfinished();
    for (let i = 0; i < 3; i++) {
      await preview(rig, create({ ...ENTRY, name: "b" }), { headers: { "idempotency-key": "a-key-that-is-not-used" } });
      await preview(rig, { action: "delete", uid, expectedGeneration: 1 });
    }
    await rig.settle();
    expect(await rig.resource(uid)).toEqual(resource);
    expect(rig.store.operations.countUnfinished()).toBe(operations);
    expect(rig.backend.calls).toHaveLength(calls);
    expect((await rig.call("GET", "/resources")).body.items).toHaveLength(1);
    const headers = { "idempotency-key": "a-key-that-is-not-used" };
    expect((await rig.create({ ...ENTRY, name: "b", spec: { key: "k2", value: "v" } }, { headers })).status).toBe(202);
  });

  test("HA-A15: faults of the input are an answer with a code", async () => {
    const { rig, uid } = await withEntry();
    const update = (input: object, expectedGeneration = 1) =>
      preview(rig, { action: "update", uid, expectedGeneration, input });
    expectInvalid(await preview(rig, create({ ...ENTRY, spec: {} })), "invalid_spec");
    expectInvalid(await preview(rig, create(ENTRY)), "name_conflict");
    expectInvalid(await preview(rig, create({ ...ENTRY, name: "b", form: `${KEY_VALUE_ENTRY}/` })), "unsupported_form");
    expectInvalid(await preview(rig, create({ ...ENTRY, name: "b", privateInputs: {} })), "capability_required");
    expectInvalid(await update({ spec: { key: "changed", value: "v" } }), "invalid_spec");
    expectInvalid(await update({ spec: ENTRY.spec }, 7), "generation_conflict");
    const dangling = { ...ENTRY, form: RENDERED_GREETING, name: "g", spec: { source: { resourceUid: "r-none" } } };
    expectInvalid(await preview(rig, create(dangling)), "invalid_spec");
    await rig.settled(rig.create({ ...dangling, spec: { source: { resourceUid: uid } } }));
    expectInvalid(await preview(rig, { action: "delete", uid, expectedGeneration: 1 }), "dependency_conflict");
    rig.backend.standStill();
    await rig.update(uid, 1, { spec: ENTRY.spec });
    expectInvalid(await update({ spec: ENTRY.spec }, 2), "resource_busy");
  });

  test("HA-A15, HA-24, HA-146: faults of the envelope are HTTP errors", async () => {
    const { rig, uid } = await withEntry();
    for (const json of [
      {},
      { action: "read" },
      { action: "create" },
      { action: "create", input: null },
      { action: "create", input: ENTRY, uid },
      { action: "create", input: { ...ENTRY, extra: 1 } },
      { action: "create", input: { ...ENTRY, spec: 1 } },
      { action: "update", uid, input: { spec: {} } },
      { action: "update", uid, expectedGeneration: "1", input: { spec: {} } },
      { action: "update", uid, expectedGeneration: -1, input: { spec: {} } },
      { action: "update", uid, expectedGeneration: 1.5, input: { spec: {} } },
      { action: "update", uid, expectedGeneration: 1, input: { spec: {}, name: "x" } },
      { action: "update", expectedGeneration: 1, input: { spec: {} } },
      { action: "delete", uid, expectedGeneration: 1, input: {} },
      { action: "delete", uid },
      { action: "delete", uid: "a b", expectedGeneration: 1 },
    ]) {
      expect(outcome(await preview(rig, json))).toEqual([400, "invalid_request"]);
    }
  });

  test("HA-A15, HA-A12: missing authority and unknown Resources are HTTP errors", async () => {
    const { rig, uid } = await withEntry();
    const reader = { token: rig.token("reader", "default", ["read"]) };
    const stranger = { token: rig.token("stranger", "elsewhere") };
    const remove = { action: "delete", uid, expectedGeneration: 1 };
    expect(outcome(await preview(rig, create({ ...ENTRY, name: "b" }), reader))).toEqual([403, "forbidden"]);
    expect(outcome(await preview(rig, remove, reader))).toEqual([403, "forbidden"]);
    expect(outcome(await preview(rig, remove, stranger))).toEqual([404, "not_found"]);
    expect(outcome(await preview(rig, { ...remove, uid: "r-none" }))).toEqual([404, "not_found"]);
    await rig.settled(rig.delete(uid, 1));
    expect(outcome(await preview(rig, remove))).toEqual([410, "gone"]);
  });

  test("HA-147: a preview is no ticket: the mutation checks everything again", async () => {
    const { rig } = await withEntry();
    const input = { ...ENTRY, name: "b", spec: { key: "k2", value: "v" } };
    expect((await preview(rig, create(input))).body).toEqual(VALID);
    await rig.settled(rig.create(input));
    expect(outcome(await rig.create(input))).toEqual([409, "name_conflict"]);
  });
});
