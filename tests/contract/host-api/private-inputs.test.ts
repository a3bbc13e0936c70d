import { describe, expect, test } from "bun:test";
import { type Answer, type CallOptions, ControlRig, type RigOptions } from "../../support/control-rig.ts";
import { KEY_VALUE_ENTRY } from "../../support/publisher/key-value-entry.ts";
import { RENDERED_GREETING } from "../../support/publisher/rendered-greeting.ts";

const outcome = (answer: Answer): readonly [number, string | undefined] => [answer.status, answer.body?.code];
const SECRET = "hunter2-of-the-publisher";
const INPUTS = { signingKey: SECRET };
const KEY = { "idempotency-key": "the-key-of-the-greeting" };
const OTHER_KEY_FILE = new Uint8Array(32).fill(9);

async function withSource(options: RigOptions = {}) {
  const rig = new ControlRig(options);
  const entry = { form: KEY_VALUE_ENTRY, name: "source", spec: { key: "k", value: "v" } };
  const { resourceUid: source } = await rig.settled(rig.create(entry));
  const greeting = { form: RENDERED_GREETING, name: "g", spec: { source: { resourceUid: source }, signed: true } };
  const create = (more: object = { privateInputs: INPUTS }, call: CallOptions = { headers: KEY }) =>
    rig.create({ ...greeting, ...more }, call);
  return { rig, source: source as string, greeting, create };
}

const replenish = (rig: ControlRig, id: string, json: unknown = { privateInputs: INPUTS }, options: CallOptions = {}) =>
  rig.call("PUT", `/operations/${id}/private-inputs`, { ...options, json });

/** An accepted greeting that was never taken up: the Host went down right after the commit, answering nothing. */
async function accepted() {
  const { rig, greeting } = await withSource();
  await rig.control.stop();
  const crashing = rig.restart({
    faults: (point) => {
      if (point === "after-accept") throw new Error("down");
    },
  });
  const { status } = await crashing.create({ ...greeting, privateInputs: INPUTS }, { headers: KEY });
  expect(status).toBe(500);
  await crashing.control.stop();
  const [operation] = rig.store.operations.unfinished();
  if (operation === undefined) throw new Error("nothing was accepted");
  return { rig, greeting, id: operation.id, uid: operation.resourceUid };
}

/** As above, under a Host that starts again later or with another key. */
async function interrupted(change: { readonly laterMs?: number; readonly masterKey?: Uint8Array }) {
  const { rig: first, ...rest } = await accepted();
  if (change.laterMs !== undefined) await first.clock.advance(change.laterMs);
  const rig = first.restart(change.masterKey === undefined ? {} : { masterKey: change.masterKey });
  await rig.settle();
  return { rig, ...rest };
}

const DAYS_MS = 24 * 60 * 60_000;

describe("taking private inputs", () => {
  test("HA-131: a create with the whole map executes with it", async () => {
    const { rig, create } = await withSource();
    const operation = await rig.settled(create());
    expect(operation.status).toBe("succeeded");
    expect(rig.backend.snapshotsOf(operation.resourceUid)[0]?.seal).toMatch(/^[0-9a-f]{64}$/);
  });

  test("HA-129: values are strings; nothing is coerced, and the refusal does not repeat them", async () => {
    const { create } = await withSource();
    for (const value of [1, true, null, [SECRET], { v: SECRET }]) {
      const answer = await create({ privateInputs: { signingKey: value } });
      expect(outcome(answer)).toEqual([400, "invalid_request"]);
      expect(answer.text).not.toContain(SECRET);
    }
  });

  test("HA-131: missing, empty and unknown names are refused by name, never by value", async () => {
    const { create } = await withSource();
    for (const more of [
      {},
      { privateInputs: {} },
      { privateInputs: { signingKey: "" } },
      { privateInputs: { ...INPUTS, extra: SECRET } },
      { privateInputs: { other: SECRET } },
    ]) {
      const answer = await create(more);
      expect(outcome(answer)).toEqual([422, "invalid_spec"]);
      expect(answer.text).not.toContain(SECRET);
    }
  });

  test("HA-130, HA-A8, HA-164: presence, even as {}, needs the capability of Host and Form", async () => {
    const { rig, create, source } = await withSource();
    const entry = { form: KEY_VALUE_ENTRY, name: "e", spec: { key: "k2", value: "v" } };
    expect(outcome(await rig.create({ ...entry, privateInputs: {} }))).toEqual([422, "capability_required"]);
    expect(outcome(await rig.update(source, 1, { spec: { key: "k", value: "v" }, privateInputs: {} }))).toEqual([
      422,
      "capability_required",
    ]);
    const unsigned = { spec: { source: { resourceUid: source } }, privateInputs: {} };
    expect((await create(unsigned)).status).toBe(202);
  });

  test("HA-54, HA-57, HA-141: without the capability only secret-free instances work", async () => {
    const config = { capabilities: { previews: true, privateInputs: false } };
    const { rig, create, source } = await withSource({ config });
    expect(outcome(await create())).toEqual([422, "capability_required"]);
    expect(outcome(await create({}))).toEqual([422, "capability_required"]);
    const unsigned = { spec: { source: { resourceUid: source } } };
    const accepted = await create(unsigned);
    expect(accepted.status).toBe(202);
    expect(outcome(await replenish(rig, accepted.body.id))).toEqual([404, "capability_unavailable"]);
  });

  test("HA-85, HA-140: an update without private inputs keeps them; a changed secret is a new intent", async () => {
    const { rig, create, greeting } = await withSource();
    const { resourceUid: uid } = await rig.settled(create());
    await rig.settled(rig.update(uid, 1, { spec: greeting.spec }));
    const rotated = { spec: greeting.spec, privateInputs: { signingKey: "another one" } };
    await rig.settled(rig.update(uid, 2, rotated));
    const [first, kept, changed] = rig.backend.snapshotsOf(uid).map(({ seal }) => seal);
    expect(kept).toBe(first);
    expect(changed).not.toBe(first);
  });
});

describe("non-disclosure", () => {
  test("HA-132, HA-151, HA-188: values show up in no answer, log line or plain byte of the store", async () => {
    const { rig, create, greeting } = await withSource();
    const answers = [
      await create(),
      await create(),
      await create({ privateInputs: { signingKey: `${SECRET}-wrong` } }),
      await create({ privateInputs: { [SECRET]: 1 } }, { headers: { "idempotency-key": rig.key() } }),
      await rig.call("POST", "/previews", {
        json: { action: "create", input: { ...greeting, space: "default", name: "p", privateInputs: INPUTS } },
      }),
    ];
    await rig.settle();
    const { id, resourceUid } = answers[0]?.body ?? {};
    answers.push(
      await rig.call("GET", `/resources/${resourceUid}`),
      await rig.call("GET", `/operations/${id}`),
      await rig.call("GET", "/resources"),
      await replenish(rig, id),
      await replenish(rig, id, { privateInputs: { signingKey: `${SECRET}-wrong` } }),
    );
    for (const { text, headers } of answers) {
      expect(text).not.toContain(SECRET);
      expect(JSON.stringify([...headers])).not.toContain(SECRET);
    }
    expect(rig.logged.join("\n")).not.toContain(SECRET);
    const kept = rig.store.privateInputs;
    for (const bytes of [kept.secret(resourceUid)?.sealed, kept.comparison(id)?.mac]) {
      expect(Buffer.from(bytes ?? []).toString("latin1")).not.toContain(SECRET);
    }
  });

  test("HA-132: not even a plain hash of a value is kept or compared with", async () => {
    const { rig, create } = await withSource();
    const { id } = await rig.settled(create());
    const mac = Buffer.from(rig.store.privateInputs.comparison(id)?.mac ?? []).toString("hex");
    const guesses = [SECRET, JSON.stringify(INPUTS), JSON.stringify([["signingKey", SECRET]])];
    for (const guess of guesses) expect(new Bun.CryptoHasher("sha256").update(guess).digest("hex")).not.toBe(mac);
  });

  test("HA-133: the transfer value goes when the Operation settles, the comparison material stays", async () => {
    const { rig, create } = await withSource();
    const { id } = await rig.settled(create());
    expect(rig.store.privateInputs.transfer(id)).toBeNull();
    expect(rig.store.privateInputs.comparison(id)).not.toBeNull();
  });
});

describe("replay with private inputs", () => {
  test("HA-116, HA-115: equal values replay; other values, absence and {} conflict", async () => {
    const { rig, create } = await withSource();
    const { id } = await rig.settled(create());
    expect((await create()).body.id).toBe(id);
    for (const more of [{ privateInputs: { signingKey: "x" } }, {}, { privateInputs: {} }]) {
      expect(outcome(await create(more))).toEqual([409, "idempotency_conflict"]);
    }
  });

  test("HA-138, HA-125: comparison outlives the transfer value, for the whole retention", async () => {
    const { rig, create } = await withSource();
    const { id } = await rig.settled(create());
    await rig.clock.advance(DAYS_MS);
    expect((await create()).body.id).toBe(id);
    expect(outcome(await create({ privateInputs: { signingKey: "x" } }))).toEqual([409, "idempotency_conflict"]);
  });

  test("HA-139, HA-148, HA-159: lost comparison material is said so, with the Operation, and nothing is made", async () => {
    const { rig, create, greeting } = await withSource();
    const { id } = await rig.settled(create());
    await rig.control.stop();
    const after = rig.restart({ masterKey: OTHER_KEY_FILE });
    const replay = await after.create({ ...greeting, privateInputs: INPUTS }, { headers: KEY });
    expect(outcome(replay)).toEqual([409, "private_inputs_unverifiable"]);
    expect(replay.body.operationId).toBe(id);
    const again = await replenish(after, id);
    expect([...outcome(again), again.body.operationId]).toEqual([409, "private_inputs_unverifiable", id]);
    expect((await after.call("GET", "/resources")).body.items).toHaveLength(2);
    const stranger = { token: after.token("stranger", "elsewhere") };
    const refused = await replenish(after, id, { privateInputs: INPUTS }, stranger);
    expect(outcome(refused)).toEqual([404, "not_found"]);
    expect(refused.text).not.toContain(id);
  });
});

describe("waiting for input", () => {
  test("HA-101, HA-108, HA-134: an expired transfer value of an unsent step is asked for by name", async () => {
    const { rig, id, uid } = await interrupted({ laterMs: 2 * DAYS_MS });
    const seen = await rig.operation(id);
    expect(seen).toMatchObject({
      status: "waiting_input",
      effect: "none",
      inputRequired: { names: ["signingKey"], reason: "expired" },
    });
    expect(seen).not.toHaveProperty("error");
    expect(await rig.resource(uid)).toMatchObject({ phase: "pending", observedGeneration: 0 });
    expect(rig.backend.snapshotsOf(uid)).toEqual([]);
  });

  test("HA-10, HA-135, HA-136: the original map brings it back into the queue, and it ends", async () => {
    const { rig, id, uid } = await interrupted({ laterMs: 2 * DAYS_MS });
    const answer = await replenish(rig, id);
    expect([answer.status, answer.body.id, answer.body.status]).toEqual([200, id, "queued"]);
    expect(answer.body).not.toHaveProperty("inputRequired");
    await rig.settle();
    expect(await rig.operation(id)).toMatchObject({ status: "succeeded", generation: 1 });
    expect(rig.backend.snapshotsOf(uid)[0]?.seal).toMatch(/^[0-9a-f]{64}$/);
  });

  test("HA-135, HA-136: any other map is a conflict and changes nothing", async () => {
    const { rig, id } = await interrupted({ laterMs: 2 * DAYS_MS });
    for (const privateInputs of [{}, { signingKey: "x" }, { ...INPUTS, more: "y" }, { signingkey: SECRET }]) {
      expect(outcome(await replenish(rig, id, { privateInputs }))).toEqual([409, "private_inputs_conflict"]);
    }
    for (const json of [{}, { ...INPUTS }, { privateInputs: INPUTS, more: 1 }, { privateInputs: null }]) {
      expect(outcome(await replenish(rig, id, json))).toEqual([400, "invalid_request"]);
    }
    expect((await rig.operation(id)).status).toBe("waiting_input");
  });

  test("HA-137: identical replenishments start one execution", async () => {
    const { rig, id, uid } = await interrupted({ laterMs: 2 * DAYS_MS });
    const goOn = rig.backend.standStill();
    const answers = await Promise.all([replenish(rig, id), replenish(rig, id), replenish(rig, id)]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    await rig.settle();
    const during = await replenish(rig, id);
    expect([during.status, during.body.status]).toEqual([200, "running"]);
    goOn();
    await rig.settle();
    expect(rig.backend.calls.filter((name) => name.startsWith("snapshot"))).toHaveLength(1);
    expect(rig.backend.snapshotsOf(uid)).toHaveLength(1);
  });

  test("HA-136, HA-A20: once terminal, other values still conflict, and equal ones are told it is over", async () => {
    const { rig, id } = await interrupted({ laterMs: 2 * DAYS_MS });
    await replenish(rig, id);
    await rig.settle();
    expect(outcome(await replenish(rig, id, { privateInputs: { signingKey: "x" } }))).toEqual([
      409,
      "private_inputs_conflict",
    ]);
    expect(outcome(await replenish(rig, id))).toEqual([409, "operation_terminal"]);
  });

  test("HA-118, HA-95: a replay of an Operation that waits is 202 and shows what it waits for", async () => {
    const { rig, id, greeting } = await interrupted({ laterMs: 2 * DAYS_MS });
    const replay = await rig.create({ ...greeting, privateInputs: INPUTS }, { headers: KEY });
    expect([replay.status, replay.body.id, replay.body.status]).toEqual([202, id, "waiting_input"]);
    expect((await rig.operation(id)).status).toBe("waiting_input");
  });

  test("HA-139, HA-A5, HA-104: with the key file lost nothing can be compared, and the unsent step ends failed", async () => {
    const { rig, id, uid } = await interrupted({ masterKey: OTHER_KEY_FILE });
    expect(await rig.operation(id)).toMatchObject({
      status: "failed",
      effect: "none",
      error: { code: "private_inputs_unverifiable" },
    });
    expect(await rig.resource(uid)).toMatchObject({ phase: "error", observedGeneration: 0 });
    expect(outcome(await replenish(rig, id))).toEqual([409, "private_inputs_unverifiable"]);
    expect((await rig.settled(rig.delete(uid, 1))).status).toBe("succeeded");
  });

  test("HA-134, HA-139: an Operation whose comparison material gets lost while it waits ends when that is found", async () => {
    const { rig, id } = await interrupted({ laterMs: 2 * DAYS_MS });
    const { keyId } = rig.store.privateInputs.comparison(id) ?? { keyId: "" };
    rig.store.write(() => rig.store.privateInputs.putComparison({ operationId: id, keyId, mac: new Uint8Array(3) }));
    expect(outcome(await replenish(rig, id))).toEqual([409, "private_inputs_unverifiable"]);
    await rig.settle();
    expect(await rig.operation(id)).toMatchObject({
      status: "failed",
      effect: "none",
      error: { code: "private_inputs_unverifiable" },
    });
  });

  test("a start under another key says how much it cannot check", async () => {
    const { rig } = await accepted();
    const after = rig.restart({ masterKey: OTHER_KEY_FILE });
    expect(after.logged.join("\n")).toContain("sealed under another key");
    expect(rig.restart().logged.join("\n")).not.toContain("sealed under another key");
  });

  test("HA-108: a transfer value that does not unseal while comparison works is unavailable", async () => {
    const { rig: first, id } = await accepted();
    const row = first.store.privateInputs.transfer(id);
    if (row === null) throw new Error("no transfer value");
    const damaged = { ...row, sealed: row.sealed.slice().fill(0, 0, 8) };
    first.store.write(() => first.store.privateInputs.putTransfer(damaged));
    const rig = first.restart();
    await rig.settle();
    expect(await rig.operation(id)).toMatchObject({
      status: "waiting_input",
      inputRequired: { names: ["signingKey"], reason: "unavailable" },
    });
  });

  test("HA-133: an expired transfer value is not kept, even sealed", async () => {
    const { rig, id } = await interrupted({ laterMs: 2 * DAYS_MS });
    await rig.clock.advance(2 * 60_000);
    expect(rig.store.privateInputs.transfer(id)).toBeNull();
    expect(await rig.operation(id)).toMatchObject({ status: "waiting_input", inputRequired: { reason: "expired" } });
  });

  test("HA-124, HA-138: it waits past its deadline and can be replenished then", async () => {
    const { rig, id } = await interrupted({ laterMs: 2 * DAYS_MS });
    await rig.clock.advance(5 * DAYS_MS);
    expect((await replenish(rig, id)).status).toBe(200);
    await rig.settle();
    expect((await rig.operation(id)).status).toBe("succeeded");
  });
});

describe("private inputs after an uncertain dispatch", () => {
  test("HA-109, HA-105: what may have been sent is reconciled, not asked for", async () => {
    const { rig, create } = await withSource();
    rig.backend.plan("lost-after");
    const { body } = await create();
    await rig.settle();
    expect(await rig.operation(body.id)).toMatchObject({ status: "reconciling", effect: "unknown" });
    await rig.control.stop();
    await rig.clock.advance(2 * DAYS_MS);
    const after = rig.restart();
    await after.settle();
    expect(await after.operation(body.id)).toMatchObject({ status: "succeeded" });
    expect(rig.backend.calls.filter((name) => name.startsWith("snapshot"))).toHaveLength(1);
  });

  test("HA-109, HA-102: when the Form proves that nothing was sent, it walks back to waiting for input", async () => {
    const { rig, create } = await withSource();
    rig.backend.plan("lost-before");
    const { body } = await create();
    await rig.settle();
    expect((await rig.operation(body.id)).status).toBe("reconciling");
    await rig.control.stop();
    await rig.clock.advance(2 * DAYS_MS);
    const after = rig.restart();
    await after.settle();
    expect(await after.operation(body.id)).toMatchObject({ status: "waiting_input", effect: "none" });
    await replenish(after, body.id);
    await after.settle();
    expect((await after.operation(body.id)).status).toBe("succeeded");
  });
});
