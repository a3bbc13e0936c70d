import { expect, test } from "bun:test";
import type { ResourceUid } from "../../../../../base/ids.ts";
import { WORKER_BUNDLE, WORKER_ENDPOINT } from "../../../../../control/forms/form-urls.ts";
import {
  deploymentSpec,
  endpointSpec,
  newDeployment,
  newEndpoint,
  newVersion,
  newWorker,
  verdict,
} from "../../../../support/forms/chain.ts";
import { FormWorld } from "../../../../support/forms/form-world.ts";

async function deployed(): Promise<{
  world: FormWorld;
  worker: ResourceUid;
  version: ResourceUid;
  deployment: ResourceUid;
}> {
  const world = new FormWorld();
  const worker = await newWorker(world);
  const version = await newVersion(world, worker);
  return { world, worker, version, deployment: await newDeployment(world, worker, { [version]: 10000 }) };
}

const hostnameOf = (world: FormWorld, uid: ResourceUid): string => world.record(uid).output["hostname"] as string;

test("WE-9, WE-10, WE-12, WE-16: both fields of the address are there from the acceptance on", async () => {
  const { world, worker } = await deployed();
  const { uid } = world.acceptCreate(WORKER_ENDPOINT, endpointSpec(worker));
  const { observed, output, phase } = world.record(uid);
  expect(phase).toBe("pending");
  expect(observed).toEqual({});
  expect(Object.keys(output).sort()).toEqual(["hostname", "url"]);
  const hostname = output["hostname"] as string;
  expect(output["url"]).toBe(`https://${hostname}/`);
  expect(hostname).toMatch(/^name-of-r1-[a-z2-7]{20}\.atoll\.localhost$/);
});

test("WE-17, WE-20: success is a configured and checked route", async () => {
  const { world, worker } = await deployed();
  const { record, uid } = await world.create(WORKER_ENDPOINT, endpointSpec(worker));
  expect(record.observed).toEqual({ tlsReady: true, activeDeploymentRouteReady: true });
  expect(world.runtime.hostnames.get(hostnameOf(world, uid))).toBe(worker);
});

test("WE-18, WE-A7: TLS that was not checked is left out, and is no failure", async () => {
  const { world, worker } = await deployed();
  world.runtime.tlsReady = undefined;
  const { record, outcome } = await world.create(WORKER_ENDPOINT, endpointSpec(worker));
  expect(outcome.type).toBe("succeeded");
  expect(record.observed).toEqual({ activeDeploymentRouteReady: true });
});

test("WE-30, WE-33, WE-34: a part that stays unready ends as a known partial failure, and an update finishes it", async () => {
  const { world, worker } = await deployed();
  world.runtime.tlsReady = false;
  const accepted = world.acceptCreate(WORKER_ENDPOINT, endpointSpec(worker));
  const address = world.record(accepted.uid).output;
  expect(await world.step(accepted)).toMatchObject({ type: "unresolved", effect: "partial" });
  const settled = await world.settle(accepted);
  expect(verdict(settled)).toBe("failed partial tls_not_ready");
  expect(settled.record.observed).toEqual({ tlsReady: false, activeDeploymentRouteReady: true });
  expect(settled.record.output).toEqual(address);
  expect(world.runtime.hostnames.get(hostnameOf(world, accepted.uid))).toBe(worker);
  world.runtime.tlsReady = true;
  const updated = await world.update(accepted.uid);
  expect(verdict(updated)).toBe("succeeded");
  expect(updated.record.output).toEqual(address);
});

test("WE-32, HA-169: a check that could not be made confirms nothing", async () => {
  const { world, worker } = await deployed();
  world.runtime.probeFault = new Error("no resolver");
  const settled = await world.create(WORKER_ENDPOINT, endpointSpec(worker));
  expect(verdict(settled)).toBe("failed partial route_not_ready");
  expect(settled.record.observed).toEqual({});
});

test("WE-24, WE-35, WE-A3: one endpoint a Worker, however far the first has come", async () => {
  const { world, worker } = await deployed();
  const second = (): string => world.refusal(() => world.acceptCreate(WORKER_ENDPOINT, endpointSpec(worker)));
  const first = world.acceptCreate(WORKER_ENDPOINT, endpointSpec(worker));
  expect(second()).toBe("dependency_conflict");
  world.runtime.tlsReady = false;
  await world.settle(first);
  expect(second()).toBe("dependency_conflict");
  const deleting = world.acceptDelete(first.uid);
  expect(second()).toBe("dependency_conflict");
  await world.settle(deleting);
  expect(() => world.acceptCreate(WORKER_ENDPOINT, endpointSpec(worker))).not.toThrow();
});

test("WE-5, WE-23: the target is a Worker of exactly that Form", async () => {
  const { world } = await deployed();
  const bundle = world.resourcesOf(WORKER_BUNDLE)[0]!.uid;
  for (const uid of [bundle, "nobody"]) {
    expect(world.refusal(() => world.acceptCreate(WORKER_ENDPOINT, endpointSpec(uid)))).toBe("invalid_spec");
  }
});

test("WE-6, WE-A1, WE-A2: without an active Deployment that answers HTTP there is no endpoint", async () => {
  const world = new FormWorld();
  const worker = await newWorker(world);
  const create = (): string => world.refusal(() => world.acceptCreate(WORKER_ENDPOINT, endpointSpec(worker)));
  expect(create()).toBe("dependency_conflict");
  const silent = await newVersion(world, worker, ["queue"]);
  const deployment = await newDeployment(world, worker, { [silent]: 10000 });
  expect(create()).toBe("dependency_conflict");
  await world.delete(deployment);
  expect(create()).toBe("dependency_conflict");
});

test("WE-4, WE-27, WE-A2: an update keeps Worker and address, and checks the condition again", async () => {
  const { world, worker, deployment } = await deployed();
  const uid = await newEndpoint(world, worker);
  const address = world.record(uid).output;
  const other = await newWorker(world);
  expect(world.refusal(() => world.acceptUpdate(uid, endpointSpec(other)))).toBe("invalid_spec");
  world.runtime.hostnames.clear();
  expect(verdict(await world.update(uid))).toBe("succeeded");
  expect(world.runtime.hostnames.get(hostnameOf(world, uid))).toBe(worker);
  expect(world.record(uid).output).toEqual(address);
  await world.delete(deployment);
  expect(world.refusal(() => world.acceptUpdate(uid, endpointSpec(worker)))).toBe("dependency_conflict");
});

test("WE-14, WE-21, WE-31: Deployment switches and restarts leave the address and its route", async () => {
  const { world, worker, deployment } = await deployed();
  const uid = await newEndpoint(world, worker);
  const hostname = hostnameOf(world, uid);
  const next = await newVersion(world, worker);
  await world.update(deployment, deploymentSpec(worker, { [next]: 10000 }));
  expect(hostnameOf(world, uid)).toBe(hostname);
  world.restart();
  expect(world.runtime.hostnames).toEqual(new Map([[hostname, worker]]));
});

test("WE-A5: without a Deployment the address stays, and the route is not ready", async () => {
  const { world, worker, deployment, version } = await deployed();
  const uid = await newEndpoint(world, worker);
  await world.delete(deployment);
  expect(world.record(uid).observed).toEqual({ tlsReady: true, activeDeploymentRouteReady: false });
  expect(world.runtime.hostnames.get(hostnameOf(world, uid))).toBe(worker);
  expect(world.wakeOf(uid)).toBe(world.clock.nowMs());
  world.runtime.tlsReady = false;
  await world.advance(0);
  expect(world.record(uid).observed).toEqual({ tlsReady: false, activeDeploymentRouteReady: false });
  world.runtime.tlsReady = true;
  await newDeployment(world, worker, { [version]: 10000 });
  await world.advance(0);
  expect(world.record(uid).observed).toEqual({ tlsReady: true, activeDeploymentRouteReady: true });
});

test("WE-28, WE-A6: deletion removes the route and nothing else; the next endpoint gets another address", async () => {
  const { world, worker, deployment } = await deployed();
  const uid = await newEndpoint(world, worker);
  const hostname = hostnameOf(world, uid);
  expect(verdict(await world.delete(uid))).toBe("succeeded");
  expect(world.runtime.hostnames.size).toBe(0);
  expect([world.record(worker).phase, world.record(deployment).phase]).toEqual(["idle", "idle"]);
  expect(hostnameOf(world, await newEndpoint(world, worker))).not.toBe(hostname);
});

test("WE-28: a restart in the middle of a delete does not open the route again", async () => {
  const { world, worker } = await deployed();
  const uid = await newEndpoint(world, worker);
  world.acceptDelete(uid);
  world.restart();
  expect(world.runtime.hostnames.size).toBe(0);
});

test("WE-29: a Worker with an endpoint cannot go", async () => {
  const { world, worker, deployment, version } = await deployed();
  const uid = await newEndpoint(world, worker);
  await world.delete(deployment);
  await world.delete(version);
  expect(world.refusal(() => world.acceptDelete(worker))).toBe("dependency_conflict");
  await world.delete(uid);
  expect(verdict(await world.delete(worker))).toBe("succeeded");
});
