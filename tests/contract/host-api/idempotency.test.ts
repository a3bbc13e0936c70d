import { describe, expect, test } from "bun:test";
import { type Answer, ControlRig } from "../../support/control-rig.ts";
import { KEY_VALUE_ENTRY } from "../../support/publisher/key-value-entry.ts";
import { ScriptedForm } from "../../support/scripted-form.ts";

const outcome = (answer: Answer): readonly [number, string | undefined] => [answer.status, answer.body?.code];
const CONFLICT = [409, "idempotency_conflict"] as const;
const KEY = { "idempotency-key": "the-one-key-of-this-test" };
const ENTRY = { form: KEY_VALUE_ENTRY, space: "default", name: "a", spec: { key: "k", value: "v" } };

/** POST /resources with exactly this text. */
const post = (rig: ControlRig, raw: string, headers: Record<string, string> = KEY) =>
  rig.call("POST", "/resources", { raw, headers });

async function withEntry() {
  const rig = new ControlRig();
  const { resourceUid: uid } = await rig.settled(rig.create(ENTRY));
  return { rig, uid: uid as string };
}

describe("replay", () => {
  test("HA-118, HA-95: an equal request returns the current state of its Operation and makes nothing new", async () => {
    const rig = new ControlRig();
    const goOn = rig.backend.standStill();
    const first = await rig.create(ENTRY, { headers: KEY });
    await rig.settle();
    const during = await rig.create(ENTRY, { headers: KEY });
    expect([during.status, during.body.id, during.body.status]).toEqual([202, first.body.id, "running"]);
    expect(during.headers.get("retry-after")).toBe("1");
    goOn();
    await rig.settle();
    const after = await rig.create(ENTRY, { headers: KEY });
    expect([after.status, after.body.id, after.body.status]).toEqual([200, first.body.id, "succeeded"]);
    expect(after.headers.get("retry-after")).toBeNull();
    expect(after.headers.get("location")).toBe(first.headers.get("location"));
    expect((await rig.call("GET", "/resources")).body.items).toHaveLength(1);
    expect(rig.backend.calls).toEqual(["put k"]);
  });

  test("HA-121, HA-185: concurrent copies have one winner, and the others get its Operation", async () => {
    const rig = new ControlRig();
    const answers = await Promise.all(Array.from({ length: 32 }, () => rig.create(ENTRY, { headers: KEY })));
    expect(new Set(answers.map((answer) => answer.body.id)).size).toBe(1);
    expect(new Set(answers.map((answer) => answer.body.resourceUid)).size).toBe(1);
    for (const { status } of answers) expect([200, 202]).toContain(status);
    await rig.settle();
    expect(rig.backend.calls).toEqual(["put k"]);
  });

  test("HA-117: the key is found before name, generation, state or existence are looked at", async () => {
    const { rig, uid } = await withEntry();
    const create = { ...ENTRY, name: "b", spec: { key: "k2", value: "v" } };
    const created = await rig.settled(rig.create(create, { headers: KEY }));
    const update = { headers: { "idempotency-key": "the-key-of-the-update" } };
    const spec = { key: "k", value: "w" };
    const updated = await rig.settled(rig.update(uid, 1, { spec }, update));
    await rig.settled(rig.update(uid, 2, { spec }));
    rig.backend.standStill();
    await rig.delete(uid, 3);
    const replays = [await rig.create(create, { headers: KEY }), await rig.update(uid, 1, { spec }, update)];
    expect(replays.map(({ status, body }) => [status, body.id])).toEqual([
      [200, created.id],
      [200, updated.id],
    ]);
  });

  test("HA-70: a replay does not advance the generation", async () => {
    const { rig, uid } = await withEntry();
    for (let i = 0; i < 3; i++) {
      await rig.update(uid, 1, { spec: ENTRY.spec }, { headers: KEY });
      await rig.settle();
    }
    expect((await rig.resource(uid)).generation).toBe(2);
  });

  test("HA-118: a failed Operation is replayed as failed, not tried again", async () => {
    const rig = new ControlRig();
    rig.backend.meddle("k", { owner: "somebody else", value: "x" });
    const failed = await rig.settled(rig.create(ENTRY, { headers: KEY }));
    rig.backend.meddle("k", null);
    const replay = await rig.create(ENTRY, { headers: KEY });
    await rig.settle();
    expect([replay.status, replay.body]).toEqual([200, failed]);
    expect(rig.backend.entry("k")).toBeNull();
  });

  test("HA-A2: a refused request leaves its key free, even for a corrected body", async () => {
    const rig = new ControlRig();
    expect(outcome(await rig.create({ ...ENTRY, spec: {} }, { headers: KEY }))).toEqual([422, "invalid_spec"]);
    expect((await rig.create(ENTRY, { headers: KEY })).status).toBe(202);
  });
});

describe("equality", () => {
  const text = '{"form":"FORM","space":"default","name":"a","spec":{"key":"k","value":"v"}}'.replace(
    "FORM",
    KEY_VALUE_ENTRY,
  );

  test("HA-116: whitespace, key order and escapes do not make a different request", async () => {
    const rig = new ControlRig();
    const first = await post(rig, text);
    for (const equal of [
      JSON.stringify(JSON.parse(text), null, 4),
      '{"spec":{"value":"v","key":"k"},"name":"a","space":"default","form":"FORM"}'.replace("FORM", KEY_VALUE_ENTRY),
      text.replace('"v"', '"\\u0076"'),
      text.replaceAll("/", "\\/"),
    ]) {
      expect((await post(rig, equal)).body.id).toBe(first.body.id);
    }
  });

  test("HA-115, HA-119, HA-158: another value, an omission or an addition does, and has no effects", async () => {
    const rig = new ControlRig();
    await post(rig, text);
    await rig.settle();
    for (const different of [
      text.replace('"v"', '"w"'),
      text.replace('"a"', '"b"'),
      text.replace('"v"', '"V"'),
      text.replace('"k"', '"k2"'),
      text.replace('"value":"v"', '"value":"v","x":null'),
      text.replace("1.0.0", "1.0.1"),
      text.replace('"spec"', '"privateInputs":{},"spec"'),
    ]) {
      expect(outcome(await post(rig, different))).toEqual(CONFLICT);
    }
    await rig.settle();
    expect(rig.backend.calls).toEqual(["put k"]);
    expect((await rig.call("GET", "/resources")).body.items).toHaveLength(1);
  });

  test("HA-116: numbers compare by mathematical value, beyond what a double holds", async () => {
    // The Form refuses numbers, so a preview of equality needs a Form that takes them.
    const form = "https://forms.publisher.example/anything/1.0.0";
    const rig = new ControlRig({ forms: () => [new ScriptedForm(form)] });
    const body = (number: string, name: string): string =>
      `{"form":"${form}","space":"default","name":"${name}","spec":{"n":${number}}}`;
    const key = (name: string) => ({ "idempotency-key": `key-for-the-number-${name}` });
    const first = await post(rig, body("1", "a"), key("a"));
    for (const equal of ["1.0", "1e0", "10e-1", "0.1E1", "1.000e+0"]) {
      expect((await post(rig, body(equal, "a"), key("a"))).body.id).toBe(first.body.id);
    }
    for (const different of ["2", "-1", '"1"', "1.0000000000000000000001", "[1]"]) {
      expect(outcome(await post(rig, body(different, "a"), key("a")))).toEqual(CONFLICT);
    }
    const big = await post(rig, body("9007199254740993", "b"), key("b"));
    expect(outcome(await post(rig, body("9007199254740992", "b"), key("b")))).toEqual(CONFLICT);
    expect((await post(rig, body("9007199254740993.0", "b"), key("b"))).body.id).toBe(big.body.id);
  });

  test("HA-114, HA-115: one key serves one method, one path and one generation", async () => {
    const { rig, uid } = await withEntry();
    const other = await rig.settled(rig.create({ ...ENTRY, name: "b", spec: { key: "k2", value: "v" } }));
    await rig.settled(rig.update(uid, 1, { spec: ENTRY.spec }, { headers: KEY }));
    expect(outcome(await rig.update(uid, 2, { spec: ENTRY.spec }, { headers: KEY }))).toEqual(CONFLICT);
    expect(outcome(await rig.update(other.resourceUid, 1, { spec: ENTRY.spec }, { headers: KEY }))).toEqual(CONFLICT);
    expect(outcome(await rig.delete(uid, 1, { headers: KEY }))).toEqual(CONFLICT);
    expect(outcome(await rig.create({ ...ENTRY, name: "c" }, { headers: KEY }))).toEqual(CONFLICT);
    expect((await rig.resource(uid)).generation).toBe(2);
    expect((await rig.resource(other.resourceUid)).generation).toBe(1);
  });

  test("HA-128: a generation holds across everything that changes one UID, keys or not", async () => {
    const { rig, uid } = await withEntry();
    const both = await Promise.all([
      rig.update(uid, 1, { spec: { key: "k", value: "x" } }),
      rig.update(uid, 1, { spec: { key: "k", value: "y" } }),
    ]);
    expect(both.map(({ status }) => status).sort((a, b) => a - b)).toEqual([202, 409]);
  });
});
