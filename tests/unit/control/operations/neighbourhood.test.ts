import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../../base/json.ts";
import type { ResourceUid } from "../../../../base/ids.ts";
import { ControlRig } from "../../../support/control-rig.ts";
import { ScriptedForm } from "../../../support/scripted-form.ts";

const FORM = "https://forms.publisher.example/scripted/1.0.0";

function scripted() {
  const form = new ScriptedForm(FORM);
  const rig = new ControlRig({ forms: () => [form] });
  let names = 0;
  const create = async (spec: object = {}): Promise<string> =>
    (await rig.settled(rig.create({ form: FORM, name: `n${++names}`, spec }))).resourceUid;
  return { form, rig, create };
}

/** Shows how many settled Resources refer to it. */
function countReferrers(form: ScriptedForm): void {
  form.onObserve = ({ resource }, view) => {
    const referrers = view.referrersOf(resource.uid).filter((other) => other.phase === "idle").length;
    return resource.observed["referrers"] === referrers ? null : { observed: { referrers } };
  };
}

describe("projection", () => {
  test("F3: it follows every settlement in the same turn, with what was there before", async () => {
    const { form, rig, create } = scripted();
    const uid = (await create()) as ResourceUid;
    await rig.settled(rig.update(uid, 1, { spec: {} }));
    form.script = async () => ({ type: "failed", effect: "none", code: "c", message: "m" });
    await rig.settled(rig.update(uid, 2, { spec: {} }));
    form.script = async () => ({ type: "succeeded", observed: {} });
    await rig.settled(rig.delete(uid, 3));
    expect(form.projections).toEqual([
      [uid, 1, 1],
      [uid, 2, 2],
      [uid, 3, 3],
      [uid, null, 4],
    ]);
  });

  test("F3: at start every Resource is projected, Form by Form in the order of registration", async () => {
    const first = new ScriptedForm("https://forms.publisher.example/first/1.0.0");
    const second = new ScriptedForm("https://forms.publisher.example/second/1.0.0");
    const rig = new ControlRig({ forms: () => [first, second] });
    for (const form of [second, first, second]) {
      await rig.settled(rig.create({ form: form.form, name: rig.key(), spec: {} }));
    }
    const seen: string[] = [];
    const [a, b] = [first, second].map(({ form }) => new ScriptedForm(form));
    for (const form of [a, b])
      if (form !== undefined)
        form.project = (_uid, _record, last) => void seen.push(`${form.form} ${last === null ? "new" : "known"}`);
    rig.restart({ forms: () => [a as ScriptedForm, b as ScriptedForm] });
    expect(seen).toEqual([`${first.form} new`, `${second.form} new`, `${second.form} new`]);
  });

  test("a projection that throws is logged and undoes nothing", async () => {
    const { form, rig, create } = scripted();
    form.project = () => {
      throw new Error("runtime trouble");
    };
    const uid = await create();
    expect((await rig.resource(uid)).phase).toBe("idle");
    expect(rig.logged.join("\n")).toContain("runtime trouble");
  });
});

describe("observation", () => {
  test("referents and referrers look again when one next to them settles or goes", async () => {
    const { form, rig, create } = scripted();
    countReferrers(form);
    const target = await create();
    const referrer = await create({ refs: [target] });
    expect((await rig.resource(target)).observed).toEqual({ referrers: 1 });
    await rig.clock.advance(1000);
    await rig.settled(rig.delete(referrer, 1));
    expect(await rig.resource(target)).toMatchObject({
      observed: { referrers: 0 },
      observedAt: "2026-10-04T12:00:01.000Z",
      generation: 1,
      observedGeneration: 1,
    });
  });

  test("a Resource that is no longer referred to looks again too", async () => {
    const { form, rig, create } = scripted();
    countReferrers(form);
    const [before, after] = [await create(), await create()];
    const referrer = await create({ refs: [before] });
    await rig.settled(rig.update(referrer, 1, { spec: { refs: [after] } }));
    expect((await rig.resource(before)).observed).toEqual({ referrers: 0 });
    expect((await rig.resource(after)).observed).toEqual({ referrers: 1 });
  });

  test("WD-A6: until an update has succeeded, what the earlier spec refers to stays referred to", async () => {
    const { form, rig, create } = scripted();
    const [before, after] = [(await create()) as ResourceUid, (await create()) as ResourceUid];
    const referrer = await create({ refs: [before] });
    const referrers = (uid: ResourceUid) => rig.store.resources.referrersOf(uid).map((row) => row.uid as string);
    form.script = async () => ({ type: "failed", effect: "none", code: "c", message: "m" });
    await rig.settled(rig.update(referrer, 1, { spec: { refs: [after] } }));
    expect([referrers(before), referrers(after)]).toEqual([[referrer], [referrer]]);
    form.script = async () => ({ type: "succeeded", observed: {}, backend: { refs: [before] } });
    await rig.settled(rig.update(referrer, 2, { spec: { refs: [after] } }));
    expect([referrers(before), referrers(after)]).toEqual([[referrer], [referrer]]);
    form.script = async () => ({ type: "succeeded", observed: {}, backend: null });
    await rig.settled(rig.update(referrer, 3, { spec: { refs: [after] } }));
    expect([referrers(before), referrers(after)]).toEqual([[], [referrer]]);
  });

  test("a change travels on as far as it changes anything", async () => {
    const { form, rig, create } = scripted();
    /** Distance to the end of the chain, as far as it is known. */
    form.onObserve = ({ resource, spec }, view) => {
      const [next] = (spec["refs"] as string[] | undefined) ?? [];
      const behind = next === undefined ? null : view.resource(next)?.observed["depth"];
      const depth = next === undefined ? Number(spec["start"] ?? 0) : Number(behind ?? 0) + 1;
      return resource.observed["depth"] === depth ? null : { observed: { depth } };
    };
    form.script = async (step) => ({ type: "succeeded", observed: { depth: Number(step.spec["start"] ?? 0) } });
    const end = await create({ start: 0 });
    const middle = await create({ refs: [end] });
    const head = await create({ refs: [middle] });
    await rig.settled(rig.update(end, 1, { spec: { start: 10 } }));
    const depths = await Promise.all([end, middle, head].map(async (uid) => (await rig.resource(uid)).observed.depth));
    expect(depths).toEqual([10, 11, 12]);
  });

  test("two Forms that never agree are cut off and reported", async () => {
    const { form, rig, create } = scripted();
    let n = 0;
    const target = await create();
    form.onObserve = () => ({ observed: { n: ++n } });
    await create({ refs: [target] });
    expect(n).toBeLessThan(100);
    expect(rig.logged.join("\n")).toContain("does not come to rest");
  });

  test("HA-176: an unfinished Resource and one that never succeeded are left alone", async () => {
    const { form, rig, create } = scripted();
    form.script = async () => ({ type: "failed", effect: "none", code: "c", message: "m" });
    const failed = await create();
    form.onObserve = () => ({ observed: { pretended: true } });
    form.script = async () => ({ type: "succeeded", observed: {} });
    await create({ refs: [failed] });
    expect(await rig.resource(failed)).toMatchObject({ observed: {}, observedAt: null, observedGeneration: 0 });
  });

  test("what is seen again unchanged is not written again", async () => {
    const { form, rig, create } = scripted();
    const target = await create();
    form.onObserve = () => ({ observed: {} });
    const { observedAt } = await rig.resource(target);
    await rig.clock.advance(1000);
    await create({ refs: [target] });
    expect((await rig.resource(target)).observedAt).toBe(observedAt);
  });

  test("an observation that throws is logged and does not disturb its neighbours", async () => {
    const { form, rig, create } = scripted();
    const [bad, good] = [await create({ bad: true }), await create()];
    form.onObserve = ({ spec }) => {
      if (spec["bad"] === true) throw new Error("cannot look");
      return { observed: { seen: true } };
    };
    await create({ refs: [bad, good] });
    expect((await rig.resource(good)).observed).toEqual({ seen: true });
    expect(rig.logged.join("\n")).toContain("cannot look");
  });

  test("after a crash between a settlement and its news, the start makes up for it", async () => {
    const { form, rig, create } = scripted();
    const target = await create();
    await create({ refs: [target] });
    const fresh = new ScriptedForm(FORM);
    countReferrers(fresh);
    expect(form.projections).toHaveLength(2);
    const next = rig.restart({ forms: () => [fresh] });
    await next.clock.advance(10);
    expect((await next.resource(target)).observed).toEqual({ referrers: 1 });
  });

  test("F4: a Resource in the middle of a wake looks again right after it", async () => {
    const { form, rig, create } = scripted();
    const gate = Promise.withResolvers<void>();
    form.script = async (step) => ({
      type: "succeeded",
      observed: {},
      ...(step.spec["refs"] === undefined ? { wakeAtMs: rig.clock.nowMs() + 100 } : {}),
    });
    const log: string[] = [];
    const target = await create();
    form.onWake = async () => {
      log.push("wake");
      await gate.promise;
      log.push("woken");
      return { observed: { woken: true } };
    };
    form.onObserve = ({ resource }) => {
      if (resource.uid !== target || resource.observed["seen"] === true) return null;
      log.push("observe");
      return { observed: { ...resource.observed, seen: true } as JsonObject };
    };
    await rig.clock.advance(100);
    await create({ refs: [target] });
    expect(log).toEqual(["wake"]);
    gate.resolve();
    await rig.settle();
    expect(log).toEqual(["wake", "woken", "observe"]);
    expect((await rig.resource(target)).observed).toEqual({ woken: true, seen: true });
  });
});
