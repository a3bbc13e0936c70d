import { expect, test } from "bun:test";
import type { ResourceUid } from "../../../../../base/ids.ts";
import { RETIRE_AFTER_MS } from "../../../../../base/limits.ts";
import {
  WORKER_BUNDLE,
  WORKER_DEPLOYMENT,
  WORKER_ENDPOINT,
  WORKER_VERSION,
} from "../../../../../control/forms/form-urls.ts";
import {
  deploymentSpec,
  endpointSpec,
  newBundle,
  newDeployment,
  newEndpoint,
  newVersion,
  newWorker,
  ref,
  verdict,
  versionSpec,
} from "../../../../support/forms/chain.ts";
import { sha256 } from "../../../../support/forms/fake-artifacts.ts";
import { FormWorld } from "../../../../support/forms/form-world.ts";

interface Deployed {
  readonly world: FormWorld;
  readonly worker: ResourceUid;
  readonly a: ResourceUid;
  readonly b: ResourceUid;
  readonly deployment: ResourceUid;
}

/** A Worker with two Versions, the first of which gets everything. */
async function deployed(): Promise<Deployed> {
  const world = new FormWorld();
  const worker = await newWorker(world);
  const [a, b] = [await newVersion(world, worker), await newVersion(world, worker)];
  return { world, worker, a, b, deployment: await newDeployment(world, worker, { [a]: 10000 }) };
}

test("WD-31 … WD-34: a create installs the distribution and shows it", async () => {
  const { world, worker, a, b } = await deployed();
  const other = await newWorker(world);
  const [c, d] = [await newVersion(world, other), await newVersion(world, other)];
  const { record, uid } = await world.create(WORKER_DEPLOYMENT, deploymentSpec(other, { [d]: 2500, [c]: 7500 }));
  const selectedVersions = [c, d].sort().map((it) => ({ resourceUid: it, weight: it === c ? 7500 : 2500 }));
  expect(record.observed).toEqual({ ready: true, active: true, selectedVersions });
  expect(record.output).toEqual({});
  expect(world.runtime.distributions.get(other)).toEqual({
    deploymentUid: uid,
    entries: [c, d].sort().map((versionUid) => ({ versionUid, weight: versionUid === c ? 7500 : 2500 })),
  });
  expect(world.runtime.weightsOf(worker)).toEqual({ [a]: 10000 });
  expect(b).not.toBe(a);
});

test("WD-13, WD-34, WD-A1: a second Deployment of a Worker is refused, whatever the first has come to", async () => {
  const world = new FormWorld();
  const worker = await newWorker(world);
  const a = await newVersion(world, worker);
  const first = world.acceptCreate(WORKER_DEPLOYMENT, deploymentSpec(worker, { [a]: 10000 }));
  const second = (): string =>
    world.refusal(() => world.acceptCreate(WORKER_DEPLOYMENT, deploymentSpec(worker, { [a]: 10000 })));
  expect(second()).toBe("dependency_conflict");
  await world.settle(first);
  expect(second()).toBe("dependency_conflict");
  const deleting = world.acceptDelete(first.uid);
  expect(second()).toBe("dependency_conflict");
  await world.settle(deleting);
  expect(await newDeployment(world, worker, { [a]: 10000 })).not.toBe(first.uid);
});

test("WD-10, WD-11, WD-A2: Versions exist, have the exact Form, and belong to the Worker", async () => {
  const { world, worker, a } = await deployed();
  const other = await newWorker(world);
  const foreign = await newVersion(world, other);
  const bundle = world.resourcesOf(WORKER_BUNDLE)[0]!.uid;
  const refusal = (owner: string, uid: string): string =>
    world.refusal(() => world.acceptCreate(WORKER_DEPLOYMENT, deploymentSpec(owner, { [uid]: 10000 })));
  expect(refusal(other, a)).toBe("invalid_spec");
  expect(refusal(worker, foreign)).toBe("invalid_spec");
  expect(refusal(other, bundle)).toBe("invalid_spec");
  expect(refusal(other, "nobody")).toBe("invalid_spec");
  expect(refusal(bundle, foreign)).toBe("invalid_spec");
});

test("WD-37, WD-A2: another Worker needs another Deployment", async () => {
  const { world, deployment } = await deployed();
  const other = await newWorker(world);
  const foreign = await newVersion(world, other);
  const spec = deploymentSpec(other, { [foreign]: 10000 });
  expect(world.refusal(() => world.acceptUpdate(deployment, spec))).toBe("invalid_spec");
});

test("WD-19, WD-35: Versions in progress are waited for, and nothing is selected before", async () => {
  const world = new FormWorld();
  const worker = await newWorker(world);
  const bundle = await newBundle(world);
  const version = world.acceptCreate(WORKER_VERSION, versionSpec(worker, bundle));
  const deployment = world.acceptCreate(WORKER_DEPLOYMENT, deploymentSpec(worker, { [version.uid]: 10000 }));
  expect(await world.step(deployment)).toMatchObject({ type: "unresolved", effect: "none" });
  expect(world.runtime.weightsOf(worker)).toBeNull();
  expect(world.record(deployment.uid).observed).toEqual({});
  await world.settle(version);
  expect(verdict(await world.settle(deployment))).toBe("succeeded");
  expect(world.runtime.weightsOf(worker)).toEqual({ [version.uid]: 10000 });
});

test("WD-19, WD-A3: a Version that is known to have failed is refused; one that fails later fails the Operation", async () => {
  const { world, worker, a, deployment } = await deployed();
  const bundle = await newBundle(world, "bad.js", ["queue"]);
  const version = world.acceptCreate(WORKER_VERSION, versionSpec(worker, bundle));
  const spec = deploymentSpec(worker, { [version.uid]: 10000 });
  const update = world.acceptUpdate(deployment, spec);
  await world.settle(version);
  const settled = await world.settle(update);
  expect(verdict(settled)).toBe("failed none version_not_ready");
  // WD-A4: the last activated distribution goes on, and the record shows it.
  expect(settled.record.observed).toEqual({
    ready: true,
    active: true,
    selectedVersions: [{ resourceUid: a, weight: 10000 }],
  });
  expect(settled.record.observedGeneration).toBe(1);
  expect(world.runtime.weightsOf(worker)).toEqual({ [a]: 10000 });
  expect(world.refusal(() => world.acceptUpdate(deployment, spec))).toBe("dependency_conflict");
  expect(verdict(await world.update(deployment, deploymentSpec(worker, { [a]: 10000 })))).toBe("succeeded");
});

test("WD-38, WD-40: an update switches in one step", async () => {
  const { world, worker, a, b, deployment } = await deployed();
  world.runtime.calls.length = 0;
  await world.update(deployment, deploymentSpec(worker, { [b]: 9000, [a]: 1000 }));
  expect(world.runtime.weightsOf(worker)).toEqual({ [a]: 1000, [b]: 9000 });
  await world.update(deployment, deploymentSpec(worker, { [b]: 10000 }));
  expect(world.runtime.weightsOf(worker)).toEqual({ [b]: 10000 });
  expect(world.runtime.calls).toEqual([`distribution ${worker} set`, `distribution ${worker} set`]);
});

test("WD-39: a same-spec update verifies again and changes nothing", async () => {
  const { world, worker, a, deployment } = await deployed();
  const settled = await world.update(deployment);
  expect(verdict(settled)).toBe("succeeded");
  expect(settled.record.generation).toBe(2);
  expect(world.runtime.weightsOf(worker)).toEqual({ [a]: 10000 });
  expect(world.wakeOf(deployment)).toBeNull();
});

test("WD-41, WD-A7: a dropped Version is retired a quarter of an hour after the switch, not before", async () => {
  const { world, worker, a, b, deployment } = await deployed();
  await world.update(deployment, deploymentSpec(worker, { [b]: 10000 }));
  expect(world.wakeOf(deployment)).toBe(world.clock.nowMs() + RETIRE_AFTER_MS);
  world.runtime.calls.length = 0;
  await world.advance(RETIRE_AFTER_MS - 1);
  expect(world.runtime.calls).toEqual([]);
  await world.advance(1);
  expect(world.runtime.calls).toContain(`retire ${a}`);
  expect(world.runtime.calls).not.toContain(`retire ${b}`);
  expect(world.wakeOf(deployment)).toBeNull();
});

test("WD-A7: a Version that stays with another weight keeps its contexts, and so does one that comes back", async () => {
  const { world, worker, a, b, deployment } = await deployed();
  await world.update(deployment, deploymentSpec(worker, { [a]: 1, [b]: 9999 }));
  expect(world.wakeOf(deployment)).toBeNull();
  await world.update(deployment, deploymentSpec(worker, { [b]: 10000 }));
  await world.advance(RETIRE_AFTER_MS / 2);
  await world.update(deployment, deploymentSpec(worker, { [a]: 10000 }));
  const dueMs = world.clock.nowMs() + RETIRE_AFTER_MS;
  expect(world.wakeOf(deployment)).toBe(dueMs);
  world.runtime.calls.length = 0;
  await world.advance(RETIRE_AFTER_MS);
  expect(world.runtime.calls.filter((it) => it.startsWith("retire"))).toEqual([`retire ${b}`]);
});

test("WD-41: a later switch does not give an earlier drop more time", async () => {
  const { world, worker, a, b, deployment } = await deployed();
  const c = await newVersion(world, worker);
  await world.update(deployment, deploymentSpec(worker, { [b]: 10000 }));
  const dueMs = world.clock.nowMs() + RETIRE_AFTER_MS;
  await world.advance(60_000);
  await world.update(deployment, deploymentSpec(worker, { [c]: 10000 }));
  expect(world.wakeOf(deployment)).toBe(dueMs);
  await world.advance(RETIRE_AFTER_MS - 60_000);
  expect(world.runtime.calls).toContain(`retire ${a}`);
  expect(world.wakeOf(deployment)).toBe(dueMs + 60_000);
});

test("WD-43: retirement survives a restart, and is not over before it is proved", async () => {
  const { world, worker, a, b, deployment } = await deployed();
  await world.update(deployment, deploymentSpec(worker, { [b]: 10000 }));
  world.restart();
  const hold = world.runtime.holdRetirement(a);
  await world.clock.advance(RETIRE_AFTER_MS);
  const waking = world.wakeDue();
  await world.clock.advance(30_000);
  await waking;
  expect(world.wakeOf(deployment)).not.toBeNull();
  hold.prove();
  await world.advance(60_000);
  expect(world.wakeOf(deployment)).toBeNull();
});

test("WD-45: a rejection is no proof of retirement", async () => {
  const { world, worker, a, b, deployment } = await deployed();
  await world.update(deployment, deploymentSpec(worker, { [b]: 10000 }));
  const hold = world.runtime.holdRetirement(a);
  await world.clock.advance(RETIRE_AFTER_MS);
  const waking = world.wakeDue();
  hold.fail(new Error("lost"));
  await waking;
  expect(world.wakeOf(deployment)).not.toBeNull();
});

test("WD-41: an update that waits does not keep a due retirement waiting", async () => {
  const { world, worker, a, b, deployment } = await deployed();
  await world.update(deployment, deploymentSpec(worker, { [b]: 10000 }));
  const bundle = await newBundle(world);
  const pending = world.acceptCreate(WORKER_VERSION, versionSpec(worker, bundle));
  const update = world.acceptUpdate(deployment, deploymentSpec(worker, { [pending.uid]: 10000 }));
  await world.clock.advance(RETIRE_AFTER_MS);
  expect(await world.step(update)).toMatchObject({ type: "unresolved" });
  expect(world.runtime.calls).toContain(`retire ${a}`);
  expect(world.runtime.weightsOf(worker)).toEqual({ [b]: 10000 });
});

test("WD-44: selection closes before anything is cancelled, and success comes after the proof", async () => {
  const { world, worker, a, b, deployment } = await deployed();
  await world.update(deployment, deploymentSpec(worker, { [b]: 10000 }));
  world.runtime.calls.length = 0;
  const hold = world.runtime.holdRetirement(b);
  const deleting = world.acceptDelete(deployment);
  const stepping = world.step(deleting);
  await world.clock.advance(0);
  expect(world.runtime.weightsOf(worker)).toBeNull();
  expect(world.noted).toEqual(["partial"]);
  await world.clock.advance(30_000);
  // WD-46: undetermined, and it keeps reconciling.
  expect(await stepping).toMatchObject({ type: "unresolved", effect: "unknown" });
  hold.prove();
  expect(verdict(await world.settle(deleting))).toBe("succeeded");
  expect(world.runtime.calls[0]).toBe(`distribution ${worker} closed`);
  expect(new Set(world.runtime.calls)).toEqual(
    new Set([`distribution ${worker} closed`, `retire ${a}`, `retire ${b}`]),
  );
});

test("WD-44: a restart in the middle of a delete does not open selection again", async () => {
  const { world, worker, deployment } = await deployed();
  world.acceptDelete(deployment);
  world.restart();
  expect(world.runtime.weightsOf(worker)).toBeNull();
});

test("WD-43: a restart shows the runtime what the record says", async () => {
  const { world, worker, a, b, deployment } = await deployed();
  const update = world.acceptUpdate(deployment, deploymentSpec(worker, { [b]: 10000 }));
  world.restart();
  expect(world.runtime.weightsOf(worker)).toEqual({ [a]: 10000 });
  await world.settle(update);
  world.restart();
  expect(world.runtime.weightsOf(worker)).toEqual({ [b]: 10000 });
});

test("WD-44: the farewell of a deleted Deployment leaves its successor's distribution alone", async () => {
  const { world, worker, a, deployment } = await deployed();
  const last = world.record(deployment);
  await world.delete(deployment);
  await newDeployment(world, worker, { [a]: 10000 });
  world.form(WORKER_DEPLOYMENT).project?.(deployment, null, last);
  expect(world.runtime.weightsOf(worker)).toEqual({ [a]: 10000 });
});

test("WD-49, WD-A8: deletion cascades to nothing and is blocked by nothing attached", async () => {
  const { world, worker, a, deployment } = await deployed();
  const endpoint = await newEndpoint(world, worker);
  expect(verdict(await world.delete(deployment))).toBe("succeeded");
  for (const uid of [worker, a, endpoint]) expect(world.record(uid).phase).toBe("idle");
});

test("WD-20, WD-22: with an endpoint attached, every Version must answer HTTP", async () => {
  const { world, worker, a, deployment } = await deployed();
  await newEndpoint(world, worker);
  const silent = await newVersion(world, worker, ["queue"]);
  const refusal = (weights: Record<string, number>): string =>
    world.refusal(() => world.acceptUpdate(deployment, deploymentSpec(worker, weights)));
  expect(refusal({ [silent]: 10000 })).toBe("dependency_conflict");
  expect(refusal({ [a]: 9999, [silent]: 1 })).toBe("dependency_conflict");
  await world.delete(deployment);
  const create = (): unknown => world.acceptCreate(WORKER_DEPLOYMENT, deploymentSpec(worker, { [silent]: 10000 }));
  expect(world.refusal(create)).toBe("dependency_conflict");
});

test("WD-20, WD-A9: so it is with a service Binding of any undeleted Version in the Host", async () => {
  const { world, worker, deployment } = await deployed();
  const caller = await newWorker(world);
  const silent = await newVersion(world, worker, []);
  const binding = await newVersion(world, caller, ["fetch"], {
    serviceBindings: [{ name: "S", resource: ref(worker) }],
  });
  const update = (): unknown => world.acceptUpdate(deployment, deploymentSpec(worker, { [silent]: 10000 }));
  expect(world.refusal(update)).toBe("dependency_conflict");
  await world.delete(binding);
  expect(update).not.toThrow();
});

test("WD-24: of an attachment and a Deployment that contradict it only the first is accepted", async () => {
  const { world, worker, deployment } = await deployed();
  const silent = await newVersion(world, worker, ["queue"]);
  const spec = deploymentSpec(worker, { [silent]: 10000 });
  // The endpoint first: accepted, not yet executed.
  const endpoint = world.acceptCreate(WORKER_ENDPOINT, endpointSpec(worker));
  expect(world.refusal(() => world.acceptUpdate(deployment, spec))).toBe("dependency_conflict");
  await world.settle(endpoint);
  await world.delete(endpoint.uid);
  // The Deployment first: accepted, not yet executed.
  const update = world.acceptUpdate(deployment, spec);
  expect(world.refusal(() => world.acceptCreate(WORKER_ENDPOINT, endpointSpec(worker)))).toBe("dependency_conflict");
  expect(verdict(await world.settle(update))).toBe("succeeded");
});

test("WD-30: when readiness breaks, new events are refused and the state stays visible; it comes back by itself", async () => {
  const { world, worker, a, deployment } = await deployed();
  const bundle = (world.record(a).spec["bundle"] as { resourceUid: ResourceUid }).resourceUid;
  world.artifacts.lose(sha256("// fetch.js"));
  world.artifacts.unpublishAll();
  await world.update(bundle);
  expect(world.record(deployment).observed).toEqual({
    ready: false,
    active: true,
    selectedVersions: [{ resourceUid: a, weight: 10000 }],
  });
  expect(world.runtime.weightsOf(worker)).toBeNull();
  expect(world.record(worker).observed).toEqual({ activeDeploymentUid: deployment, ready: false });
  world.artifacts.publishBundle([{ path: "fetch.js", content: "// fetch.js" }]);
  await world.update(bundle);
  expect(world.record(deployment).observed).toMatchObject({ ready: true });
  expect(world.runtime.weightsOf(worker)).toEqual({ [a]: 10000 });
});

test("WD-30: while a retirement waits, looking again does not forget its time", async () => {
  const { world, worker, b, deployment } = await deployed();
  await world.update(deployment, deploymentSpec(worker, { [b]: 10000 }));
  const dueMs = world.wakeOf(deployment);
  const bundle = (world.record(b).spec["bundle"] as { resourceUid: ResourceUid }).resourceUid;
  world.artifacts.lose(sha256("// fetch.js"));
  world.artifacts.unpublishAll();
  await world.update(bundle);
  expect(world.record(deployment).observed).toMatchObject({ ready: false });
  expect(world.wakeOf(deployment)).toBe(dueMs);
});
