import { expect, test } from "bun:test";
import { AtollError } from "../../../../../base/errors.ts";
import type { ResourceUid } from "../../../../../base/ids.ts";
import { WORKER_BUNDLE, WORKER_VERSION } from "../../../../../control/forms/form-urls.ts";
import { readVersionNotes } from "../../../../../control/forms/worker-version/offer.ts";
import {
  deploymentSpec,
  newBundle,
  newDeployment,
  newVersion,
  newWorker,
  ref,
  verdict,
  versionSpec,
} from "../../../../support/forms/chain.ts";
import { sha256 } from "../../../../support/forms/fake-artifacts.ts";
import { FormWorld } from "../../../../support/forms/form-world.ts";

async function workerAndBundle(): Promise<{ world: FormWorld; worker: ResourceUid; bundle: ResourceUid }> {
  const world = new FormWorld();
  return { world, worker: await newWorker(world), bundle: await newBundle(world) };
}

test("WV-87 … WV-89: a verified snapshot is ready, and says nothing about traffic", async () => {
  const { world, worker, bundle } = await workerAndBundle();
  const { record } = await world.create(WORKER_VERSION, versionSpec(worker, bundle));
  expect(record.observed).toEqual({ ready: true, resolvedBindings: true, bundleVerified: true });
  expect(record.output).toEqual({});
  expect(world.runtime.distributions.size).toBe(0);
});

test("WV-20, WV-52, WV-A1, MW-A1: exactly the declared handlers must be exported", async () => {
  const { world, worker, bundle } = await workerAndBundle();
  const create = async (declared: string[], exported: ("fetch" | "queue" | "scheduled")[]): Promise<string> => {
    world.runtime.reports.set("main.js", { ok: true, handlers: exported, classes: [] });
    return verdict(await world.create(WORKER_VERSION, versionSpec(worker, bundle, { handlers: declared })));
  };
  expect(await create(["fetch", "queue"], ["queue", "fetch"])).toBe("succeeded");
  expect(await create([], [])).toBe("succeeded");
  expect(await create(["fetch"], [])).toBe("failed none handler_mismatch");
  expect(await create(["fetch"], ["fetch", "queue"])).toBe("failed none handler_mismatch");
  expect(await create([], ["fetch"])).toBe("failed none handler_mismatch");
});

test("WV-A5, MW-32, MW-41: what the inspection finds becomes the Operation's error", async () => {
  const { world, worker, bundle } = await workerAndBundle();
  world.runtime.reports.set("main.js", { ok: false, code: "module_syntax_error", message: "main.js does not parse." });
  const { outcome, record } = await world.create(WORKER_VERSION, versionSpec(worker, bundle));
  expect(outcome).toMatchObject({ type: "failed", effect: "none", code: "module_syntax_error" });
  expect(record.observed).toEqual({});
});

test("WV-65: the exported classes are kept for those who will need one", async () => {
  const { world, worker, bundle } = await workerAndBundle();
  const classes = [{ name: "Counter", methods: ["fetch", "alarm"] }];
  world.runtime.reports.set("main.js", { ok: true, handlers: ["fetch"], classes });
  const { record } = await world.create(WORKER_VERSION, versionSpec(worker, bundle));
  expect(readVersionNotes(record.backend)).toEqual({ classes });
});

test("WV-A5: a bundle in progress is waited for, a failed one is refused", async () => {
  const world = new FormWorld();
  const worker = await newWorker(world);
  const artifact = world.artifacts.publishBundle([{ path: "main.js", content: "1" }]);
  const bundle = world.acceptCreate(WORKER_BUNDLE, { artifact });
  const spec = versionSpec(worker, bundle.uid, { requiredSensitiveVars: ["A"] });
  const version = world.acceptCreate(WORKER_VERSION, spec, { A: "1" });
  for (let i = 0; i < 3; i++) {
    expect(await world.step(version)).toMatchObject({ type: "unresolved", effect: "none" });
  }
  expect(world.record(version.uid).observed).toEqual({});
  expect(world.vault.keeps).toBe(1);
  await world.settle(bundle);
  expect(verdict(await world.settle(version))).toBe("succeeded");

  const broken = world.artifacts.publish("m", "no manifest");
  const { uid } = await world.create(WORKER_BUNDLE, { artifact: broken });
  const refusal = world.refusal(() => world.acceptCreate(WORKER_VERSION, versionSpec(worker, uid)));
  expect(refusal).toBe("dependency_conflict");
});

test("WV-A5: a bundle that fails while it is waited for fails the Version", async () => {
  const world = new FormWorld();
  const worker = await newWorker(world);
  const bundle = world.acceptCreate(WORKER_BUNDLE, { artifact: world.artifacts.publish("m", "no manifest") });
  const version = world.acceptCreate(WORKER_VERSION, versionSpec(worker, bundle.uid));
  await world.step(version);
  await world.settle(bundle);
  expect(verdict(await world.settle(version))).toBe("failed none bundle_not_verified");
});

test("WV-6, WV-7: references are exact: right Form, existing uid", async () => {
  const { world, worker, bundle } = await workerAndBundle();
  const refusal = (spec: ReturnType<typeof versionSpec>): string =>
    world.refusal(() => world.acceptCreate(WORKER_VERSION, spec));
  expect(refusal(versionSpec(bundle, bundle))).toBe("invalid_spec");
  expect(refusal(versionSpec(worker, worker))).toBe("invalid_spec");
  expect(refusal(versionSpec("nobody", bundle))).toBe("invalid_spec");
  const service = { name: "S", resource: ref(bundle) };
  expect(refusal(versionSpec(worker, bundle, { serviceBindings: [service] }))).toBe("invalid_spec");
});

test("WV-90: only the same normalised spec is accepted, and it is verified again", async () => {
  const { world, worker, bundle } = await workerAndBundle();
  const spec = versionSpec(worker, bundle, { vars: { a: { x: 1, y: [1, 2] } } });
  const { uid } = await world.create(WORKER_VERSION, spec);
  const other = await newBundle(world, "other.js");
  for (const change of [
    versionSpec(worker, other, { vars: { a: { x: 1, y: [1, 2] } } }),
    { ...spec, handlers: [] },
    { ...spec, vars: { a: { x: 1, y: [2, 1] } } },
    { ...spec, requiredSensitiveVars: ["A"] },
    { ...spec, serviceBindings: [{ name: "S", resource: ref(worker) }] },
  ]) {
    expect(world.refusal(() => world.acceptUpdate(uid, change))).toBe("invalid_spec");
  }
  const inspections = world.runtime.calls.length;
  const same = { ...spec, vars: { a: { y: [1, 2], x: 1 } }, kvBindings: [] };
  const settled = await world.update(uid, same);
  expect(verdict(settled)).toBe("succeeded");
  expect(world.runtime.calls).toHaveLength(inspections + 1);
});

test("WV-44, WV-45: the values go to the vault and nowhere else", async () => {
  const { world, worker, bundle } = await workerAndBundle();
  const spec = versionSpec(worker, bundle, { requiredSensitiveVars: ["TOKEN"] });
  const { uid, record } = await world.create(WORKER_VERSION, spec, { TOKEN: "hush-hush" });
  expect(world.vault.kept.get(uid)).toEqual({ TOKEN: "hush-hush" });
  expect(JSON.stringify(record)).not.toContain("hush-hush");
  expect(world.form(WORKER_VERSION).privateInputNames(world.form(WORKER_VERSION).parse(spec))).toEqual(["TOKEN"]);
});

test("WV-46, WV-47, WV-49, WV-50: an update keeps the secrets, and accepts only the same ones", async () => {
  const { world, worker, bundle } = await workerAndBundle();
  const spec = versionSpec(worker, bundle, { requiredSensitiveVars: ["A", "B"] });
  const { uid } = await world.create(WORKER_VERSION, spec, { A: "1", B: "2" });
  const refusal = (values: Record<string, string>): string =>
    world.refusal(() => world.acceptUpdate(uid, spec, values));
  expect(refusal({ A: "1" })).toBe("invalid_spec");
  expect(refusal({ A: "1", B: "2", C: "3" })).toBe("invalid_spec");
  expect(refusal({ A: "1", B: "" })).toBe("invalid_spec");
  expect(refusal({ A: "1", B: "3" })).toBe("invalid_spec");
  expect(refusal({})).toBe("invalid_spec");
  expect(verdict(await world.update(uid, spec, { B: "2", A: "1" }))).toBe("succeeded");
  expect(verdict(await world.update(uid, spec))).toBe("succeeded");
  expect(world.vault.keeps).toBe(1);

  const plain = await newVersion(world, worker);
  expect(world.refusal(() => world.acceptUpdate(plain, world.record(plain).spec, { A: "1" }))).toBe("invalid_spec");
  expect(verdict(await world.update(plain, world.record(plain).spec, {}))).toBe("succeeded");
});

test("WV-48: lost secrets are never replaced; Ready drops and comes back with the key", async () => {
  const { world, worker, bundle } = await workerAndBundle();
  const spec = versionSpec(worker, bundle, { requiredSensitiveVars: ["A"] });
  const { uid } = await world.create(WORKER_VERSION, spec, { A: "1" });
  world.vault.sealed = true;
  world.observeAll();
  expect(world.record(uid).observed).toEqual({ ready: false, resolvedBindings: true, bundleVerified: true });
  const settled = await world.update(uid, spec, { A: "other" });
  expect(verdict(settled)).toBe("failed none secrets_unavailable");
  expect(settled.record.observed).toMatchObject({ ready: false });
  expect(world.vault.keeps).toBe(1);
  world.vault.sealed = false;
  world.observeAll();
  expect(world.record(uid).observed).toMatchObject({ ready: true });
  expect(world.vault.kept.get(uid)).toEqual({ A: "1" });
});

test("WV-48, HA-109: a create whose values are lost asks for them only while the vault has none", async () => {
  const { world, worker, bundle } = await workerAndBundle();
  const spec = versionSpec(worker, bundle, { requiredSensitiveVars: ["A"] });
  const accepted = world.acceptCreate(WORKER_VERSION, spec);
  const form = world.form(WORKER_VERSION);
  const step = {
    ...accepted,
    resource: world.record(accepted.uid),
    spec: form.parse(spec),
    view: world,
    privateInputsLost: "expired",
    resumed: true,
    note: () => {},
  } as const;
  expect(await form.execute(step)).toEqual({ type: "input_required" });
  await world.vault.keep(accepted.uid, { A: "1" });
  expect(await form.execute(step)).toMatchObject({ type: "succeeded" });
});

test("WV-55: what a Version needs may go, and the Version says so", async () => {
  const { world, worker, bundle } = await workerAndBundle();
  const { uid } = await world.create(WORKER_VERSION, versionSpec(worker, bundle));
  world.artifacts.lose(sha256("// main.js"));
  world.artifacts.unpublishAll();
  await world.update(bundle);
  expect(world.record(uid).observed).toEqual({ ready: false, resolvedBindings: true, bundleVerified: false });
  expect(verdict(await world.update(uid))).toBe("failed none bundle_not_verified");
  expect(world.record(uid).observed).toMatchObject({ ready: false });
});

test("HA-169: when the Host cannot inspect, nothing is learnt, and nothing that was known is lost", async () => {
  const { world, worker, bundle } = await workerAndBundle();
  const { uid } = await world.create(WORKER_VERSION, versionSpec(worker, bundle));
  world.runtime.reports.set("main.js", new Error("no thread"));
  const settled = await world.update(uid);
  expect(verdict(settled)).toBe("failed none inspection_unavailable");
  expect(settled.record.observed).toMatchObject({ ready: true });
  expect(settled.outcome).not.toMatchObject({ message: expect.stringContaining("no thread") });
});

test("HA-169: bytes that are not held any more are a finding", async () => {
  const { world, worker, bundle } = await workerAndBundle();
  const { uid } = await world.create(WORKER_VERSION, versionSpec(worker, bundle));
  world.runtime.reports.set("main.js", new AtollError("artifact_unreachable", "not held"));
  const settled = await world.update(uid);
  expect(verdict(settled)).toBe("failed none artifact_unreachable");
  expect(settled.record.observed).toMatchObject({ ready: false });
});

test("WV-88: what changed during the inspection counts", async () => {
  const { world, worker, bundle } = await workerAndBundle();
  const inspecting = Promise.withResolvers<void>();
  world.runtime.inspecting = inspecting.promise;
  const accepted = world.acceptCreate(WORKER_VERSION, versionSpec(worker, bundle, { requiredSensitiveVars: ["A"] }), {
    A: "1",
  });
  const stepping = world.step(accepted);
  await world.clock.advance(0);
  world.vault.sealed = true;
  inspecting.resolve();
  expect(await stepping).toMatchObject({ type: "failed", code: "secrets_unavailable" });
});

test("WV-91: neither weighted, nor about to be, nor running: only then a Version can go", async () => {
  const world = new FormWorld();
  const owner = await newWorker(world);
  const [a, b] = [await newVersion(world, owner), await newVersion(world, owner)];
  const deployment = await newDeployment(world, owner, { [a]: 10000 });
  expect(world.refusal(() => world.acceptDelete(a))).toBe("dependency_conflict");
  const update = world.acceptUpdate(deployment, deploymentSpec(owner, { [b]: 10000 }));
  expect(world.refusal(() => world.acceptDelete(a))).toBe("dependency_conflict");
  expect(world.refusal(() => world.acceptDelete(b))).toBe("dependency_conflict");
  world.runtime.contexts.set(a, 1);
  await world.settle(update);
  expect(world.refusal(() => world.acceptDelete(a))).toBe("dependency_conflict");
  world.runtime.contexts.delete(a);
  expect(verdict(await world.delete(a))).toBe("succeeded");
});

test("WV-92: deletion retires what is left, drops the secrets, and touches nothing else", async () => {
  const { world, worker, bundle } = await workerAndBundle();
  const spec = versionSpec(worker, bundle, { requiredSensitiveVars: ["A"] });
  const { uid } = await world.create(WORKER_VERSION, spec, { A: "1" });
  const hold = world.runtime.holdRetirement(uid);
  const accepted = world.acceptDelete(uid);
  const stepping = world.step(accepted);
  await world.clock.advance(30_000);
  expect(await stepping).toMatchObject({ type: "unresolved", effect: "unknown" });
  hold.prove();
  expect(verdict(await world.settle(accepted))).toBe("succeeded");
  expect(world.vault.kept.has(uid)).toBe(false);
  expect(world.record(bundle).phase).toBe("idle");
  expect(await world.artifacts.holds(sha256("// main.js"), bundle)).toBe(true);
});

test("WD-20, WD-22, WD-A9: a service Binding needs a target that answers HTTP, once the target is deployed", async () => {
  const world = new FormWorld();
  const [caller, target] = [await newWorker(world), await newWorker(world)];
  const bundle = await newBundle(world);
  const spec = versionSpec(caller, bundle, { serviceBindings: [{ name: "S", resource: ref(target) }] });
  const early = await world.create(WORKER_VERSION, spec);
  expect(verdict(early)).toBe("succeeded");
  await world.delete(early.uid);
  const silent = await newVersion(world, target, ["queue"]);
  await newDeployment(world, target, { [silent]: 10000 });
  expect(world.refusal(() => world.acceptCreate(WORKER_VERSION, spec))).toBe("dependency_conflict");
});

test("WV-A10, WV-94: a Version may bind its own Worker, and blocks its deletion", async () => {
  const { world, worker, bundle } = await workerAndBundle();
  const spec = versionSpec(worker, bundle, { serviceBindings: [{ name: "SELF", resource: ref(worker) }] });
  const settled = await world.create(WORKER_VERSION, spec);
  expect(settled.record.observed).toMatchObject({ ready: true, resolvedBindings: true });
  expect(world.refusal(() => world.acceptDelete(worker))).toBe("dependency_conflict");
});
