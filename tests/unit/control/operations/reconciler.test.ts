import { describe, expect, test } from "bun:test";
import { AtollError } from "../../../../base/errors.ts";
import type { Outcome, Step } from "../../../../control/forms/form.ts";
import type { JsonObject } from "../../../../base/json.ts";
import { ControlRig, type RigOptions } from "../../../support/control-rig.ts";
import { ScriptedForm } from "../../../support/scripted-form.ts";

const FORM = "https://forms.publisher.example/scripted/1.0.0";
const DONE: Outcome = { type: "succeeded", observed: { done: true } };
const again = (effect: "none" | "partial" | "unknown", retryAfterMs = 100): Outcome => ({
  type: "unresolved",
  effect,
  retryAfterMs,
  code: "not_yet",
  message: "not yet",
});

function scripted(options: RigOptions = {}) {
  const form = new ScriptedForm(FORM);
  const rig = new ControlRig({ forms: () => [form], ...options });
  let names = 0;
  const create = (spec: object = {}) => rig.create({ form: FORM, name: `n${++names}`, spec });
  return { form, rig, create };
}

/** Answers the attempts in turn, the last one for ever. */
function script(form: ScriptedForm, ...outcomes: readonly (Outcome | Error)[]): void {
  form.script = async () => {
    const outcome = outcomes[Math.min(form.steps.length, outcomes.length) - 1];
    if (outcome === undefined || outcome instanceof Error) throw outcome ?? new Error("no outcome");
    return outcome;
  };
}

describe("attempts", () => {
  test("R1: an Operation is executed without anybody asking, with what was accepted", async () => {
    const { form, rig, create } = scripted();
    form.script = async () => DONE;
    const { body } = await create({ x: 1 });
    await rig.settle();
    expect(form.steps).toHaveLength(1);
    expect(form.steps[0]).toMatchObject({
      action: "create",
      operationId: body.id,
      spec: { x: 1 },
      privateInputs: null,
      privateInputsLost: null,
      resumed: false,
      resource: { uid: body.resourceUid, generation: 1, phase: "pending" },
    });
  });

  test("an unresolved attempt comes again after the time the Form named, and not before", async () => {
    const { form, rig, create } = scripted();
    script(form, again("none", 5000), DONE);
    await create();
    await rig.clock.advance(4999);
    expect(form.steps).toHaveLength(1);
    await rig.clock.advance(1);
    expect(form.steps).toHaveLength(2);
    expect(form.steps[1]?.resumed).toBe(false);
  });

  test("HA-102: resumed says whether an earlier attempt may have dispatched something", async () => {
    const { form, rig, create } = scripted();
    script(form, again("none"), again("unknown"), again("unknown"), again("partial"), DONE);
    const { body } = await create();
    const seen: unknown[] = [];
    await rig.settle();
    for (let i = 0; i < 5; i++) {
      const { status, effect } = await rig.operation(body.id);
      seen.push([status, effect]);
      await rig.clock.advance(100);
    }
    expect(form.steps.map((step) => step.resumed)).toEqual([false, false, true, true, false]);
    expect(seen).toEqual([
      ["running", "none"],
      ["reconciling", "unknown"],
      ["reconciling", "unknown"],
      ["running", "partial"],
      ["succeeded", "complete"],
    ]);
  });

  test("T2: an attempt that throws is no outcome; it backs off, longer each time, and ends when the Form does", async () => {
    const { form, rig, create } = scripted();
    script(form, ...Array.from({ length: 6 }, () => new AtollError("forbidden", "whatever")), DONE);
    const { body } = await create();
    await rig.settle();
    const waits: number[] = [];
    for (let count = 1; count <= 6; count++) {
      expect(form.steps).toHaveLength(count);
      expect(await rig.operation(body.id)).toMatchObject({ status: "reconciling", effect: "unknown" });
      let waited = 0;
      while (form.steps.length === count && waited < 100_000) {
        await rig.clock.advance(10);
        waited += 10;
      }
      waits.push(waited);
    }
    expect((await rig.operation(body.id)).status).toBe("succeeded");
    expect(waits[0]).toBeLessThanOrEqual(210);
    expect(waits[5]).toBeGreaterThan(2000);
  });

  test("HA-175: what a Form notes is durable while it still runs, and shows as the effect", async () => {
    const { form, rig, create } = scripted();
    const gate = Promise.withResolvers<void>();
    form.script = async (step) => {
      step.note({ handle: "h-1" }, "unknown");
      await gate.promise;
      step.note({ handle: "h-1", stage: 2 }, "partial");
      return { type: "failed", effect: "partial", code: "half", message: "half done" };
    };
    const { body } = await create();
    await rig.settle();
    expect(rig.store.resources.get(body.resourceUid)?.backend).toEqual({ handle: "h-1" });
    expect(await rig.operation(body.id)).toMatchObject({ status: "running", effect: "unknown" });
    gate.resolve();
    await rig.settle();
    expect(rig.store.resources.get(body.resourceUid)?.backend).toEqual({ handle: "h-1", stage: 2 });
    expect(await rig.operation(body.id)).toMatchObject({
      status: "failed",
      effect: "partial",
      error: { code: "half" },
    });
  });

  test("a note after the attempt has ended is a bug of the Form and changes nothing", async () => {
    const { form, rig, create } = scripted();
    const steps: Step<JsonObject>[] = [];
    form.script = async (step) => {
      steps.push(step);
      return DONE;
    };
    const { body } = await create();
    await rig.settle();
    expect(() => steps[0]?.note({ late: true }, "unknown")).toThrow();
    expect(rig.store.resources.get(body.resourceUid)?.backend).toBeNull();
    expect((await rig.operation(body.id)).effect).toBe("complete");
  });

  test("WB-A6: a failed attempt may correct what was observed, without advancing the observed generation", async () => {
    const { form, rig, create } = scripted();
    form.script = async () => DONE;
    const { resourceUid } = await rig.settled(create());
    await rig.clock.advance(1000);
    form.script = async () => ({
      type: "failed",
      effect: "none",
      code: "gone",
      message: "m",
      observed: { done: false },
    });
    await rig.settled(rig.update(resourceUid, 1, { spec: {} }));
    expect(await rig.resource(resourceUid)).toMatchObject({
      observed: { done: false },
      observedGeneration: 1,
      observedAt: "2026-10-04T12:00:01.000Z",
      phase: "error",
    });
  });

  test("R2: attempts on different Resources run side by side up to the bound", async () => {
    const { form, rig, create } = scripted({ config: { concurrencyMax: 3 } });
    const gate = Promise.withResolvers<void>();
    form.script = async () => {
      await gate.promise;
      return DONE;
    };
    for (let i = 0; i < 10; i++) await create();
    await rig.settle();
    expect(form.steps).toHaveLength(3);
    gate.resolve();
    await rig.settle();
    expect(form.steps).toHaveLength(10);
    expect(rig.control.health().unfinishedOperations).toBe(0);
  });
});

describe("start and stop", () => {
  test("R3, HA-102: an attempt without a recorded result comes back as reconciling and resumed", async () => {
    const { form, rig, create } = scripted();
    form.script = () => new Promise(() => {});
    const { body } = await create();
    await rig.settle();
    expect((await rig.operation(body.id)).status).toBe("running");
    const fresh = new ScriptedForm(FORM);
    const gate = Promise.withResolvers<void>();
    fresh.script = async () => {
      await gate.promise;
      return DONE;
    };
    const next = rig.restart({ forms: () => [fresh] });
    await next.settle();
    expect(await next.operation(body.id)).toMatchObject({ status: "reconciling", effect: "unknown" });
    expect(fresh.steps.map((step) => step.resumed)).toEqual([true]);
    gate.resolve();
    await next.settle();
    expect((await next.operation(body.id)).status).toBe("succeeded");
  });

  test("R3: an attempt whose unsent state was recorded comes back as running and fresh", async () => {
    const { form, rig, create } = scripted();
    script(form, again("none", 60_000));
    const { body } = await create();
    await rig.settle();
    await rig.control.stop();
    const fresh = new ScriptedForm(FORM);
    fresh.script = async () => again("none");
    const next = rig.restart({ forms: () => [fresh] });
    await next.settle();
    expect(await next.operation(body.id)).toMatchObject({ status: "running", effect: "none" });
    expect(fresh.steps[0]?.resumed).toBe(false);
  });

  test("an unfinished Operation of a Form that is gone rests, is readable, and blocks only its own Resource", async () => {
    const { form, rig, create } = scripted();
    form.script = () => new Promise(() => {});
    const { body } = await create();
    await rig.settle();
    const other = new ScriptedForm("https://forms.publisher.example/other/1.0.0");
    const next = rig.restart({ forms: () => [other] });
    await next.settle();
    expect((await next.call("GET", `/resources/${body.resourceUid}`)).status).toBe(200);
    expect((await next.operation(body.id)).status).toBe("reconciling");
    expect((await next.update(body.resourceUid, 1, { spec: {} })).body.code).toBe("unsupported_form");
  });

  test("stopping waits for the attempt that runs, and starts no other", async () => {
    const { form, rig, create } = scripted({ config: { concurrencyMax: 1 } });
    const gate = Promise.withResolvers<void>();
    form.script = async () => {
      await gate.promise;
      return DONE;
    };
    const first = await create();
    const second = await create();
    await rig.settle();
    let stopped = false;
    const stopping = rig.control.stop().then(() => (stopped = true));
    await rig.settle();
    expect(stopped).toBe(false);
    gate.resolve();
    await stopping;
    expect(form.steps).toHaveLength(1);
    expect((await rig.operation(first.body.id)).status).toBe("succeeded");
    expect((await rig.operation(second.body.id)).status).toBe("queued");
  });

  test("what cannot be written down is tried again from what the store says", async () => {
    const { form, rig, create } = scripted();
    form.script = async () => DONE;
    const write = rig.store.write.bind(rig.store);
    let broken = 2;
    const { body } = await create();
    rig.store.write = (change) => {
      if (broken-- > 0) throw new AtollError("temporarily_unavailable", "the node has no disk space left");
      return write(change);
    };
    await rig.clock.advance(10_000);
    expect((await rig.operation(body.id)).status).toBe("succeeded");
  });
});

describe("waiting for neighbours", () => {
  test("an attempt that waits is tried at once when a Resource next to it settles", async () => {
    const { form, rig, create } = scripted();
    form.script = async () => DONE;
    const { resourceUid: target } = await rig.settled(create());
    form.script = async (step) => (step.spec["refs"] === undefined ? DONE : again("none", 3_600_000));
    const waiting = await create({ refs: [target] });
    await rig.settle();
    expect((await rig.operation(waiting.body.id)).status).toBe("running");
    form.script = async () => DONE;
    await rig.settled(rig.update(target, 1, { spec: {} }));
    expect((await rig.operation(waiting.body.id)).status).toBe("succeeded");
  });
});
