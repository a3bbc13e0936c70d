import { expect, test } from "bun:test";
import type { ResourceUid } from "../../base/ids.ts";
import { WORKER_ENDPOINT } from "../../control/forms/form-urls.ts";
import { EdgeRig, refusal, succeeded, verdict } from "../support/edge-rig.ts";
import { deploymentSpec, endpointSpec } from "../support/forms/chain.ts";

const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

async function deployed(rig: EdgeRig): Promise<{ worker: ResourceUid; version: ResourceUid; deployment: ResourceUid }> {
  const worker = await rig.worker();
  const version = await rig.version(worker);
  return { worker, version, deployment: await rig.deployment(worker, { [version]: 10000 }) };
}

test("WE-2, WE-8: all four operations, under exactly this URL", async () => {
  using rig = new EdgeRig();
  const support = (await rig.http("GET", `/support?form=${encodeURIComponent(WORKER_ENDPOINT)}`)).body;
  const operations = ["create", "read", "update", "delete"];
  expect(support).toEqual({ form: WORKER_ENDPOINT, supported: true, operations, privateInputs: false });
});

test("WE-3, WE-5, WE-7, WE-A4: the spec names one Worker and nothing else; no private inputs", async () => {
  using rig = new EdgeRig();
  const { worker, version } = await deployed(rig);
  for (const spec of [
    {},
    { worker: null },
    { worker },
    { worker: { resourceUid: worker, form: "x" } },
    { worker: { resourceUid: worker }, hostname: "mine" },
    { worker: { resourceUid: version } },
    { worker: { resourceUid: "r-nobody" } },
  ]) {
    expect(refusal(await rig.create(WORKER_ENDPOINT, spec))).toBe("422 invalid_spec");
  }
  for (const privateInputs of [{}, { A: "1" }]) {
    const answer = await rig.create(WORKER_ENDPOINT, endpointSpec(worker), { privateInputs });
    expect(refusal(answer)).toBe("422 capability_required");
  }
});

test("WE-1, WE-9 … WE-12, WE-16: the address is there with the acceptance, and stays through success", async () => {
  using rig = new EdgeRig();
  const { worker } = await deployed(rig);
  rig.runtime.tlsReady = false;
  const accepted = await rig.create(WORKER_ENDPOINT, endpointSpec(worker));
  await rig.quiet();
  const pending = await rig.resource(accepted.body.resourceUid);
  expect(pending.phase).toBe("pending");
  const { hostname, url } = pending.output;
  expect(Object.keys(pending.output).sort()).toEqual(["hostname", "url"]);
  expect(url).toBe(`https://${hostname}/`);
  expect(hostname.length).toBeLessThanOrEqual(253);
  for (const label of hostname.split(".")) expect(label).toMatch(LABEL);
  rig.runtime.tlsReady = true;
  const endpoint = await rig.resource(succeeded(await rig.settled(accepted)));
  expect(endpoint.output).toEqual({ hostname, url });
});

test("WE-17 … WE-20, WE-37: success is a checked route; a check that was not made is left out", async () => {
  using rig = new EdgeRig();
  const { worker } = await deployed(rig);
  rig.runtime.tlsReady = undefined;
  const endpoint = await rig.resource(await rig.endpoint(worker));
  expect(endpoint.observed).toEqual({ activeDeploymentRouteReady: true });
  expect(Date.parse(endpoint.observedAt)).toBeLessThanOrEqual(rig.clock.nowMs());
  expect(rig.runtime.hostnames.get(endpoint.output.hostname)).toBe(worker);
});

test("WE-30, WE-33, WE-34: what stays unready ends as partial, keeps its address, and is finished by an update", async () => {
  using rig = new EdgeRig();
  const { worker } = await deployed(rig);
  rig.runtime.tlsReady = false;
  const accepted = await rig.create(WORKER_ENDPOINT, endpointSpec(worker));
  await rig.quiet();
  expect(await rig.operation(accepted.body.id)).toMatchObject({ effect: "partial" });
  expect(verdict(await rig.settled(accepted))).toBe("failed partial tls_not_ready");
  const failed = await rig.resource(accepted.body.resourceUid);
  expect(failed).toMatchObject({ phase: "error", observed: { tlsReady: false }, observedGeneration: 0 });
  rig.runtime.tlsReady = true;
  succeeded(await rig.settled(rig.update(failed.uid, endpointSpec(worker))));
  expect(await rig.resource(failed.uid)).toMatchObject({ output: failed.output, observed: { tlsReady: true } });
});

test("WE-24, WE-35, WE-36, WE-A3: one endpoint a Worker; a replay finds the first, a new request is refused", async () => {
  using rig = new EdgeRig();
  const { worker } = await deployed(rig);
  rig.runtime.tlsReady = false;
  const options = { key: "one-and-the-same-key", name: "front" };
  const first = await rig.create(WORKER_ENDPOINT, endpointSpec(worker), options);
  expect((await rig.create(WORKER_ENDPOINT, endpointSpec(worker), options)).body.id).toBe(first.body.id);
  expect(refusal(await rig.create(WORKER_ENDPOINT, endpointSpec(worker)))).toBe("409 dependency_conflict");
  await rig.settled(first);
  expect(refusal(await rig.create(WORKER_ENDPOINT, endpointSpec(worker)))).toBe("409 dependency_conflict");
  const kept = await rig.resource(first.body.resourceUid);
  expect(rig.runtime.hostnames.get(kept.output.hostname)).toBe(worker);
});

test("WE-6, WE-23, WE-A1, WE-A2: without a Deployment that answers HTTP there is nothing to attach to", async () => {
  using rig = new EdgeRig();
  const worker = await rig.worker();
  const create = async (): Promise<string> => refusal(await rig.create(WORKER_ENDPOINT, endpointSpec(worker)));
  expect(await create()).toBe("409 dependency_conflict");
  const silent = await rig.version(worker, ["scheduled"]);
  const deployment = await rig.deployment(worker, { [silent]: 10000 });
  expect(await create()).toBe("409 dependency_conflict");
  const loud = await rig.version(worker);
  succeeded(await rig.settled(rig.update(deployment, deploymentSpec(worker, { [loud]: 10000 }))));
  succeeded(await rig.settled(rig.create(WORKER_ENDPOINT, endpointSpec(worker))));
});

test("WE-25: a later switch to a Version that cannot answer is refused", async () => {
  using rig = new EdgeRig();
  const { worker, deployment } = await deployed(rig);
  await rig.endpoint(worker);
  const silent = await rig.version(worker, ["queue"]);
  const answer = await rig.update(deployment, deploymentSpec(worker, { [silent]: 10000 }));
  expect(refusal(answer)).toBe("409 dependency_conflict");
});

test("WE-4, WE-27: the Worker cannot change; the same spec converges the route again", async () => {
  using rig = new EdgeRig();
  const { worker } = await deployed(rig);
  const other = await deployed(rig);
  const uid = await rig.endpoint(worker);
  const before = await rig.resource(uid);
  expect(refusal(await rig.update(uid, endpointSpec(other.worker)))).toBe("422 invalid_spec");
  expect((await rig.resource(uid)).generation).toBe(1);
  rig.runtime.hostnames.clear();
  succeeded(await rig.settled(rig.update(uid, endpointSpec(worker))));
  expect(await rig.resource(uid)).toMatchObject({ output: before.output, generation: 2, observedGeneration: 2 });
  expect(rig.runtime.hostnames.get(before.output.hostname)).toBe(worker);
});

test("WE-14, WE-21, WE-26, WE-31: the address outlives switches and restarts, and a read changes nothing", async () => {
  using rig = new EdgeRig();
  const { worker, deployment } = await deployed(rig);
  const uid = await rig.endpoint(worker);
  const { output } = await rig.resource(uid);
  const next = await rig.version(worker);
  succeeded(await rig.settled(rig.update(deployment, deploymentSpec(worker, { [next]: 10000 }))));
  await rig.restart();
  const calls = rig.runtime.calls.length;
  expect((await rig.resource(uid)).output).toEqual(output);
  expect(rig.runtime.calls).toHaveLength(calls);
  expect(rig.runtime.hostnames).toEqual(new Map([[output.hostname, worker]]));
});

test("WE-28, WE-29, WE-A6: a delete removes the route alone, and the name is never given again", async () => {
  using rig = new EdgeRig();
  const { worker, deployment } = await deployed(rig);
  const uid = await rig.endpoint(worker);
  const { output } = await rig.resource(uid);
  expect(refusal(await rig.delete(worker))).toBe("409 dependency_conflict");
  succeeded(await rig.settled(rig.delete(uid)));
  expect(rig.runtime.hostnames.size).toBe(0);
  expect(rig.runtime.weightsOf(worker)).not.toBeNull();
  expect((await rig.resource(deployment)).generation).toBe(1);
  const next = await rig.resource(await rig.endpoint(worker));
  expect(next.output.hostname).not.toBe(output.hostname);
});

test("WE-A5: without a Deployment the address stays and the route is not ready, until there is one again", async () => {
  using rig = new EdgeRig();
  const { worker, version, deployment } = await deployed(rig);
  const uid = await rig.endpoint(worker);
  const { output } = await rig.resource(uid);
  succeeded(await rig.settled(rig.delete(deployment)));
  await rig.quiet();
  expect(await rig.resource(uid)).toMatchObject({ output, observed: { activeDeploymentRouteReady: false } });
  await rig.deployment(worker, { [version]: 10000 });
  await rig.quiet();
  expect((await rig.resource(uid)).observed).toEqual({ tlsReady: true, activeDeploymentRouteReady: true });
});
