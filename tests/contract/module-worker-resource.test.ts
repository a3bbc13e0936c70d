import { expect, test } from "bun:test";
import { MODULE_WORKER, WORKER_DEPLOYMENT, WORKER_ENDPOINT } from "../../control/forms/form-urls.ts";
import { EdgeRig, refusal, succeeded, verdict } from "../support/edge-rig.ts";
import { deploymentSpec } from "../support/forms/chain.ts";

test("MW-1, MW-7, MW-15: the Form is supported whole, under exactly its URL", async () => {
  using rig = new EdgeRig();
  const support = async (form: string): Promise<unknown> =>
    (await rig.http("GET", `/support?form=${encodeURIComponent(form)}`)).body;
  expect(await support(MODULE_WORKER)).toEqual({
    form: MODULE_WORKER,
    supported: true,
    operations: ["create", "read", "update", "delete"],
    privateInputs: false,
  });
  for (const form of [MODULE_WORKER.replace("0.3.0", "0.4.0"), MODULE_WORKER.slice(0, -1)]) {
    expect(await support(form)).toMatchObject({ supported: false });
    expect(refusal(await rig.create(form as typeof MODULE_WORKER, {}))).toBe("422 unsupported_form");
  }
});

test("MW-3: the spec is exactly {}; everything else is refused and leaves nothing behind", async () => {
  using rig = new EdgeRig();
  for (const spec of ['{"name":"x"}', '{"__proto__":{}}', '{"vars":null}']) {
    expect(refusal(await rig.create(MODULE_WORKER, spec))).toBe("422 invalid_spec");
  }
  for (const spec of ["null", "[]", '"x"', "1"]) expect((await rig.create(MODULE_WORKER, spec)).status).toBe(400);
  expect((await rig.http("GET", "/resources")).body.items).toEqual([]);
  for (const privateInputs of [{}, { A: "1" }]) {
    expect(refusal(await rig.create(MODULE_WORKER, {}, { privateInputs }))).toBe("422 capability_required");
  }
});

test("MW-2, MW-4, MW-6, MW-8, MW-18: a new Worker is an empty identity without code, address or capability", async () => {
  using rig = new EdgeRig();
  const accepted = await rig.create(MODULE_WORKER, {});
  const worker = await rig.resource(succeeded(await rig.settled(accepted)));
  expect(worker).toMatchObject({
    phase: "idle",
    spec: {},
    observed: { activeDeploymentUid: null, ready: false },
    output: {},
    observedGeneration: 1,
  });
  expect(JSON.stringify(worker)).not.toMatch(/actor|workflow|url|https:\/\/(?!edge\.forms)/i);
  expect(rig.runtime.calls).toEqual([]);
});

test("MW-5, MW-9: the record follows the Deployment, and reading it asks nobody", async () => {
  using rig = new EdgeRig();
  const worker = await rig.worker();
  const version = await rig.version(worker);
  const deployment = await rig.deployment(worker, { [version]: 10000 });
  const calls = rig.runtime.calls.length;
  expect((await rig.resource(worker)).observed).toEqual({ activeDeploymentUid: deployment, ready: true });
  expect(rig.runtime.calls).toHaveLength(calls);
  await rig.settled(rig.delete(deployment));
  expect((await rig.resource(worker)).observed).toEqual({ activeDeploymentUid: null, ready: false });
});

test("MW-5, WD-30: what breaks far below reaches the Worker", async () => {
  using rig = new EdgeRig();
  const worker = await rig.worker();
  const version = await rig.version(worker);
  const deployment = await rig.deployment(worker, { [version]: 10000 });
  const bundle = (await rig.resource(version)).spec.bundle.resourceUid;
  for (const file of (await rig.resource(bundle)).observed.files) rig.artifacts.lose(file.sha256);
  rig.artifacts.unpublishAll();
  expect(verdict(await rig.settled(rig.update(bundle, (await rig.resource(bundle)).spec)))).toStartWith(
    "failed partial",
  );
  expect((await rig.resource(version)).observed).toMatchObject({ ready: false, bundleVerified: false });
  expect((await rig.resource(deployment)).observed).toMatchObject({ ready: false, active: true });
  expect((await rig.resource(worker)).observed).toEqual({ activeDeploymentUid: deployment, ready: false });
  expect(rig.runtime.weightsOf(worker)).toBeNull();
});

test("MW-10: an update is a new generation and changes no code", async () => {
  using rig = new EdgeRig();
  const worker = await rig.worker();
  const version = await rig.version(worker);
  await rig.deployment(worker, { [version]: 10000 });
  expect(refusal(await rig.update(worker, { x: 1 }))).toBe("422 invalid_spec");
  const before = await rig.resource(worker);
  const operation = await rig.settled(rig.update(worker, {}));
  const after = await rig.resource(worker);
  expect(after).toMatchObject({ generation: 2, observedGeneration: 2, lastOperation: operation.id });
  expect(after.observed).toEqual(before.observed);
  expect(rig.runtime.weightsOf(worker)).toEqual({ [version]: 10000 });
});

test("MW-11, MW-13, WV-94, WE-29, WD-53: a Worker goes last, and takes nothing with it", async () => {
  using rig = new EdgeRig();
  const worker = await rig.worker();
  const other = await rig.worker();
  const service = { name: "S", resource: { resourceUid: worker } };
  const version = await rig.version(worker);
  const deployment = await rig.deployment(worker, { [version]: 10000 });
  const bound = await rig.version(other, ["fetch"], { serviceBindings: [service] });
  const endpoint = await rig.endpoint(worker);
  const bundle = (await rig.resource(version)).spec.bundle.resourceUid;
  for (const uid of [endpoint, deployment, version, bound]) {
    expect(refusal(await rig.delete(worker))).toBe("409 dependency_conflict");
    expect((await rig.resource(worker)).generation).toBe(1);
    succeeded(await rig.settled(rig.delete(uid)));
  }
  succeeded(await rig.settled(rig.delete(worker)));
  expect((await rig.http("GET", `/resources/${worker}`)).status).toBe(410);
  for (const uid of [other, bundle]) expect((await rig.resource(uid)).phase).toBe("idle");
});

test("MW-14, WV-7, WD-12, HA-177: a successor of the same name is another Worker", async () => {
  using rig = new EdgeRig();
  const first = (await rig.made(MODULE_WORKER, {}, { name: "shop" })).uid;
  const version = await rig.version(await rig.worker());
  await rig.settled(rig.delete(first));
  const second = (await rig.made(MODULE_WORKER, {}, { name: "shop" })).uid;
  expect(second).not.toBe(first);
  const deployment = await rig.create(WORKER_DEPLOYMENT, deploymentSpec(first, { [version]: 10000 }));
  expect(refusal(deployment)).toBe("422 invalid_spec");
  const byName = await rig.create(WORKER_ENDPOINT, { worker: { resourceUid: "shop" } });
  expect(refusal(byName)).toBe("422 invalid_spec");
});
