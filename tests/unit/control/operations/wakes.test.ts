import { describe, expect, test } from "bun:test";
import { ControlRig } from "../../../support/control-rig.ts";
import { ScriptedForm } from "../../../support/scripted-form.ts";

const FORM = "https://forms.publisher.example/scripted/1.0.0";

/** A Resource that wants to be woken after `delayMs`. */
async function wanting(delayMs: number) {
  const form = new ScriptedForm(FORM);
  const rig = new ControlRig({ forms: () => [form] });
  const woken: number[] = [];
  form.script = async () => ({ type: "succeeded", observed: {}, wakeAtMs: rig.clock.nowMs() + delayMs });
  form.onWake = async () => {
    woken.push(rig.clock.nowMs());
    return null;
  };
  const startMs = rig.clock.nowMs();
  const { resourceUid: uid } = await rig.settled(rig.create({ form: FORM, name: "a", spec: {} }));
  return { form, rig, uid: uid as string, woken, startMs };
}

describe("wakes", () => {
  test("a wake comes at its time, once", async () => {
    const { rig, woken, startMs } = await wanting(1000);
    await rig.clock.advance(999);
    expect(woken).toEqual([]);
    await rig.clock.advance(1);
    expect(woken).toEqual([startMs + 1000]);
    await rig.clock.advance(100_000);
    expect(woken).toHaveLength(1);
  });

  test("it outlives a restart, also when it fell due meanwhile", async () => {
    const { rig, uid } = await wanting(1000);
    await rig.control.stop();
    await rig.clock.advance(5000);
    const fresh = new ScriptedForm(FORM);
    let woken = 0;
    fresh.onWake = async () => {
      woken++;
      return { observed: { woken: true }, backend: { n: 1 } };
    };
    const next = rig.restart({ forms: () => [fresh] });
    await next.settle();
    expect(woken).toBe(1);
    expect(await next.resource(uid)).toMatchObject({ observed: { woken: true }, generation: 1, observedGeneration: 1 });
    expect(fresh.projections.at(-1)).toEqual([uid as never, 1, 1]);
  });

  test("an observation may ask for the next wake", async () => {
    const { form, rig } = await wanting(1000);
    let woken = 0;
    form.onWake = async () => ({ observed: { n: ++woken }, wakeAtMs: rig.clock.nowMs() + 10_000 });
    await rig.clock.advance(1000);
    expect(woken).toBe(1);
    await rig.clock.advance(9999);
    expect(woken).toBe(1);
    await rig.clock.advance(1);
    expect(woken).toBe(2);
  });

  test("a success that wants no wake takes back an earlier one", async () => {
    const { form, rig, uid, woken } = await wanting(1000);
    form.script = async () => ({ type: "succeeded", observed: {} });
    await rig.settled(rig.update(uid, 1, { spec: {} }));
    await rig.clock.advance(10_000);
    expect(woken).toEqual([]);
  });

  test("F4: while an Operation is unfinished a wake waits, and comes after it", async () => {
    const { form, rig, uid, woken } = await wanting(1000);
    const gate = Promise.withResolvers<void>();
    form.script = async () => {
      await gate.promise;
      return { type: "failed", effect: "none", code: "c", message: "m" };
    };
    await rig.update(uid, 1, { spec: {} });
    await rig.clock.advance(5000);
    expect(woken).toEqual([]);
    gate.resolve();
    await rig.settle();
    expect(woken).toHaveLength(1);
  });

  test("an update accepted during a wake keeps its generation, and the wake's facts stay true", async () => {
    const { form, rig, uid } = await wanting(1000);
    const gate = Promise.withResolvers<void>();
    form.onWake = async () => {
      await gate.promise;
      return { observed: { woken: true } };
    };
    await rig.clock.advance(1000);
    form.script = async (step) => ({ type: "succeeded", observed: { ...step.resource.observed, updated: true } });
    const accepted = await rig.update(uid, 1, { spec: { next: 1 } });
    expect(accepted.status).toBe(202);
    gate.resolve();
    await rig.settle();
    expect(await rig.resource(uid)).toMatchObject({
      generation: 2,
      observedGeneration: 2,
      phase: "idle",
      spec: { next: 1 },
      observed: { woken: true, updated: true },
    });
  });

  test("a wake that fails is logged and comes again", async () => {
    const { form, rig } = await wanting(1000);
    let woken = 0;
    form.onWake = async () => {
      if (++woken < 3) throw new Error("not now");
      return null;
    };
    await rig.clock.advance(1000);
    expect(woken).toBe(1);
    await rig.clock.advance(60_000);
    expect(woken).toBe(3);
    await rig.clock.advance(600_000);
    expect(woken).toBe(3);
    expect(rig.logged.join("\n")).toContain("not now");
  });

  test("many wakes at one instant all come, beside a later one", async () => {
    const { form, rig } = await wanting(1000);
    let woken = 0;
    form.onWake = async () => {
      woken++;
      return null;
    };
    form.script = async (step) => ({ type: "succeeded", observed: {}, wakeAtMs: Number(step.spec["at"]) });
    const at = rig.clock.nowMs() + 1000;
    for (let i = 0; i < 30; i++) await rig.settled(rig.create({ form: FORM, name: `m${i}`, spec: { at } }));
    await rig.settled(rig.create({ form: FORM, name: "late", spec: { at: at + 3 * 86_400_000 } }));
    await rig.clock.advance(1000);
    expect(woken).toBe(31);
    await rig.clock.advance(3 * 86_400_000);
    expect(woken).toBe(32);
  });
});
