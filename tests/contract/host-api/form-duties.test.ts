// What the Host API asks of every Form, shown with the two fictional Forms of its text.
import { describe, expect, test } from "bun:test";
import { type Answer, ControlRig } from "../../support/control-rig.ts";
import { KEY_VALUE_ENTRY } from "../../support/publisher/key-value-entry.ts";
import { RENDERED_GREETING } from "../../support/publisher/rendered-greeting.ts";

const outcome = (answer: Answer): readonly [number, string | undefined] => [answer.status, answer.body?.code];
const ENTRY = { form: KEY_VALUE_ENTRY, name: "source", spec: { key: "k", value: "v" } };
const greeting = (resourceUid: string, more: object = {}) => ({
  form: RENDERED_GREETING,
  name: "greeting",
  spec: { source: { resourceUid }, ...more },
});

async function withEntry() {
  const rig = new ControlRig();
  const { resourceUid: uid } = await rig.settled(rig.create(ENTRY));
  return { rig, uid: uid as string };
}

describe("KeyValueEntry", () => {
  test("HA-169, HA-72: an unreachable backend is never shown as absence, and refreshes nothing", async () => {
    const { rig, uid } = await withEntry();
    const before = await rig.resource(uid);
    await rig.clock.advance(1000);
    rig.backend.plan(...Array.from({ length: 20 }, () => "unreachable" as const));
    await rig.update(uid, 1, { spec: { key: "k", value: "w" } });
    await rig.clock.advance(500);
    const { observed, observedAt, observedGeneration } = await rig.resource(uid);
    expect({ observed, observedAt, observedGeneration }).toEqual({
      observed: before.observed,
      observedAt: before.observedAt,
      observedGeneration: 1,
    });
  });

  test("HA-175: after a lost answer the same identity is reconciled, and one object exists", async () => {
    const rig = new ControlRig();
    rig.backend.plan("lost-after");
    const { body } = await rig.create(ENTRY);
    await rig.clock.advance(500);
    expect((await rig.operation(body.id)).status).toBe("succeeded");
    expect(rig.backend.entry("k")).toEqual({ owner: body.resourceUid, value: "v" });
  });

  test("HA-122: recovery never makes an object under another identity", async () => {
    const rig = new ControlRig();
    rig.backend.plan("lost-after", "lost-after", "lost-before");
    const { body } = await rig.create(ENTRY);
    await rig.clock.advance(2000);
    expect(new Set(rig.backend.calls)).toEqual(new Set(["put k"]));
    expect(rig.backend.entry("k")?.owner).toBe(body.resourceUid);
    expect((await rig.call("GET", "/resources")).body.items).toHaveLength(1);
  });

  test("HA-180, HA-182: keys and values are measured in characters, and unknown fields are refused", async () => {
    const rig = new ControlRig();
    const create = (key: string, value: string) => rig.create({ ...ENTRY, name: rig.key(), spec: { key, value } });
    expect((await create("😀".repeat(128), "")).status).toBe(202);
    expect(outcome(await create("😀".repeat(129), ""))).toEqual([422, "invalid_spec"]);
    expect((await create("k", "é".repeat(4096))).status).toBe(202);
    expect(outcome(await create("k", "é".repeat(4097)))).toEqual([422, "invalid_spec"]);
  });
});

describe("RenderedGreeting", () => {
  test("HA-177: only a Resource of exactly the named Form is a target", async () => {
    const { rig, uid } = await withEntry();
    const { resourceUid } = await rig.settled(rig.create(greeting(uid)));
    const other = { ...greeting(resourceUid), name: "other" };
    expect(outcome(await rig.create(other))).toEqual([422, "invalid_spec"]);
  });

  test("HA-75, HA-169: the confirmed value is used, never a newer spec that is not observed yet", async () => {
    const { rig, uid } = await withEntry();
    rig.entries.execute = () => new Promise(() => {});
    await rig.update(uid, 1, { spec: { key: "k", value: "newer" } });
    const { status, resourceUid } = await rig.settled(rig.create(greeting(uid, { prefix: "Hello " })));
    expect(status).toBe("succeeded");
    expect(rig.backend.snapshotsOf(resourceUid)[0]?.body).toBe("Hello v");
    expect((await rig.resource(resourceUid)).observed.sourceGeneration).toBe(1);
    expect((await rig.resource(uid)).spec.value).toBe("newer");
  });

  test("HA-96: a source that was never observed fails the accepted Operation without effect", async () => {
    const rig = new ControlRig();
    rig.backend.meddle("k", { owner: "somebody else", value: "x" });
    const { resourceUid } = await rig.settled(rig.create(ENTRY));
    const failed = await rig.settled(rig.create(greeting(resourceUid)));
    expect(failed).toMatchObject({ status: "failed", effect: "none", error: { code: "source_unavailable" } });
  });

  test("HA-177: making a target's name again does not turn old references to it", async () => {
    const { rig, uid } = await withEntry();
    const { resourceUid } = await rig.settled(rig.create(greeting(uid)));
    await rig.settled(rig.delete(resourceUid, 1));
    await rig.settled(rig.delete(uid, 1));
    const fresh = await rig.settled(rig.create(ENTRY));
    expect(fresh.resourceUid).not.toBe(uid);
    expect(outcome(await rig.create({ ...greeting(uid), name: "again" }))).toEqual([422, "invalid_spec"]);
  });

  test("HA-171: an output stays what it was while an update is under way or fails", async () => {
    const { rig, uid } = await withEntry();
    const { resourceUid } = await rig.settled(rig.create(greeting(uid, { prefix: "a" })));
    expect((await rig.resource(resourceUid)).output).toEqual({ text: "av" });
    rig.backend.plan("torn");
    const failed = await rig.settled(rig.update(resourceUid, 1, { spec: greeting(uid, { prefix: "b" }).spec }));
    expect(failed).toMatchObject({ status: "failed", effect: "partial" });
    expect(await rig.resource(resourceUid)).toMatchObject({ output: { text: "av" }, observedGeneration: 1 });
  });

  test("HA-173: a delete whose cleanup is uncertain keeps reconciling and keeps the record", async () => {
    const { rig, uid } = await withEntry();
    const { resourceUid } = await rig.settled(rig.create(greeting(uid)));
    rig.backend.plan("lost-before");
    const { body } = await rig.delete(resourceUid, 1);
    await rig.settle();
    expect((await rig.operation(body.id)).status).toBe("reconciling");
    expect((await rig.resource(resourceUid)).phase).toBe("deleting");
    expect(outcome(await rig.delete(uid, 1))).toEqual([409, "dependency_conflict"]);
    await rig.clock.advance(500);
    expect((await rig.operation(body.id)).status).toBe("succeeded");
    expect(rig.backend.snapshotsOf(resourceUid)).toEqual([]);
  });

  test("HA-58, HA-181: nothing is fetched because a URL appears as Form or in a spec", async () => {
    const fetched: string[] = [];
    const original = globalThis.fetch;
    globalThis.fetch = (async (input: unknown) => {
      fetched.push(String(input));
      throw new Error("no network here");
    }) as unknown as typeof fetch;
    try {
      const rig = new ControlRig();
      const url = "https://forms.publisher.example/never-seen/1.0.0";
      await rig.create({ ...ENTRY, form: url });
      await rig.call("GET", `/support?form=${encodeURIComponent(url)}`);
      await rig.settled(rig.create({ ...ENTRY, spec: { key: url, value: url } }));
    } finally {
      globalThis.fetch = original;
    }
    expect(fetched).toEqual([]);
  });
});
