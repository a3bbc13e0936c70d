import { expect, test } from "bun:test";
import type { Json } from "../../../../../base/json.ts";
import { MODULE_WORKER, WORKER_DEPLOYMENT } from "../../../../../control/forms/form-urls.ts";
import { deploymentSpec, newDeployment, newVersion, newWorker, verdict } from "../../../../support/forms/chain.ts";
import { FormWorld } from "../../../../support/forms/form-world.ts";

test("MW-3: the spec is exactly an empty object", () => {
  const world = new FormWorld();
  for (const spec of [null, [], "", 0, { name: "x" }, { worker: null }] as Json[]) {
    expect(world.refusal(() => world.acceptCreate(MODULE_WORKER, spec))).toBe("invalid_spec");
  }
});

test("MW-4, MW-6, MW-8, MW-18: a new Worker is an empty identity, confirmed to have no Deployment", async () => {
  const world = new FormWorld();
  const accepted = world.acceptCreate(MODULE_WORKER, {});
  expect(world.record(accepted.uid).observed).toEqual({});
  const { record } = await world.settle(accepted);
  expect(record.observed).toEqual({ activeDeploymentUid: null, ready: false });
  expect(record.output).toEqual({});
  expect(world.runtime.calls).toEqual([]);
});

test("MW-4, MW-5: the active Deployment shows up, and only once it is active", async () => {
  const world = new FormWorld();
  const worker = await newWorker(world);
  const version = await newVersion(world, worker);
  const accepted = world.acceptCreate(WORKER_DEPLOYMENT, deploymentSpec(worker, { [version]: 10000 }));
  world.observeAll();
  expect(world.record(worker).observed).toEqual({ activeDeploymentUid: null, ready: false });
  await world.settle(accepted);
  expect(world.record(worker).observed).toEqual({ activeDeploymentUid: accepted.uid, ready: true });
  await world.delete(accepted.uid);
  expect(world.record(worker).observed).toEqual({ activeDeploymentUid: null, ready: false });
});

test("MW-10: an update changes nothing and looks again", async () => {
  const world = new FormWorld();
  const worker = await newWorker(world);
  const version = await newVersion(world, worker);
  const deployment = await newDeployment(world, worker, { [version]: 10000 });
  const { record } = await world.update(worker, {});
  expect(record.observed).toEqual({ activeDeploymentUid: deployment, ready: true });
  expect(record.generation).toBe(2);
  expect(world.runtime.weightsOf(worker)).toEqual({ [version]: 10000 });
});

test("MW-11, MW-12, MW-13: deletion waits for all that refers to it, and then frees the identity alone", async () => {
  const world = new FormWorld();
  const worker = await newWorker(world);
  const version = await newVersion(world, worker);
  const deployment = await newDeployment(world, worker, { [version]: 10000 });
  expect(world.refusal(() => world.acceptDelete(worker))).toBe("dependency_conflict");
  await world.delete(deployment);
  expect(world.refusal(() => world.acceptDelete(worker))).toBe("dependency_conflict");
  const deleting = world.acceptDelete(version);
  expect(world.refusal(() => world.acceptDelete(worker))).toBe("dependency_conflict");
  await world.settle(deleting);
  expect(verdict(await world.delete(worker))).toBe("succeeded");
  expect(world.resource(worker)).toBeNull();
});
