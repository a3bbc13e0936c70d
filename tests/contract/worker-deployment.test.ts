import { expect, test } from "bun:test";
import type { ResourceUid } from "../../base/ids.ts";
import { RETIRE_AFTER_MS } from "../../base/limits.ts";
import { WORKER_DEPLOYMENT, WORKER_ENDPOINT, WORKER_VERSION } from "../../control/forms/form-urls.ts";
import { EdgeRig, refusal, succeeded, verdict } from "../support/edge-rig.ts";
import { deploymentSpec, endpointSpec, ref, versionSpec } from "../support/forms/chain.ts";

interface Deployed {
  readonly worker: ResourceUid;
  readonly a: ResourceUid;
  readonly b: ResourceUid;
  readonly deployment: ResourceUid;
}

async function deployed(rig: EdgeRig): Promise<Deployed> {
  const worker = await rig.worker();
  const [a, b] = [await rig.version(worker), await rig.version(worker)];
  return { worker, a, b, deployment: await rig.deployment(worker, { [a]: 10000 }) };
}

test("WD-3, WD-52: all four operations, no private inputs, under exactly this URL", async () => {
  using rig = new EdgeRig();
  const support = (await rig.http("GET", `/support?form=${encodeURIComponent(WORKER_DEPLOYMENT)}`)).body;
  const operations = ["create", "read", "update", "delete"];
  expect(support).toEqual({ form: WORKER_DEPLOYMENT, supported: true, operations, privateInputs: false });
  const newer = WORKER_DEPLOYMENT.replace("0.4.0", "0.5.0") as typeof WORKER_DEPLOYMENT;
  expect(refusal(await rig.create(newer, {}))).toBe("422 unsupported_form");
});

test("WD-4 … WD-7, WD-A2: sums, bounds, doubles and unknown keys are refused before acceptance", async () => {
  using rig = new EdgeRig();
  const worker = await rig.worker();
  const [a, b] = [await rig.version(worker), await rig.version(worker)];
  const entry = (uid: string, weight: string): string =>
    `{"workerVersion":{"resourceUid":"${uid}"},"weight":${weight}}`;
  const spec = (...entries: string[]): string =>
    `{"worker":{"resourceUid":"${worker}"},"versions":[${entries.join()}]}`;
  for (const text of [
    spec(),
    spec(entry(a, "9999")),
    spec(entry(a, "10000"), entry(b, "1")),
    spec(entry(a, "10000"), entry(b, "0")),
    spec(entry(a, "5000"), entry(a, "5000")),
    spec(entry(a, "-1"), entry(b, "10001")),
    spec(entry(a, "5000.5"), entry(b, "4999.5")),
    spec(entry(a, "10000.00000000000000000001")),
    spec(entry(a, '"10000"')),
    spec(entry(a, "null")),
    spec(entry(a, '10000,"x":1')),
    spec(entry(a, "10000")).replace('"versions"', '"strategy":"x","versions"'),
  ]) {
    expect(refusal(await rig.create(WORKER_DEPLOYMENT, text))).toBe("422 invalid_spec");
  }
  succeeded(await rig.settled(rig.create(WORKER_DEPLOYMENT, spec(entry(b, "1e4")))));
});

test("WD-10, WD-11, WD-A2: every Version is one of this Worker", async () => {
  using rig = new EdgeRig();
  const { a, worker } = await deployed(rig);
  const other = await rig.worker();
  for (const [owner, version] of [
    [other, a],
    [other, other],
    [a, a],
    [other, "r-nobody"],
    ["r-nobody", a],
  ] as const) {
    const answer = await rig.create(WORKER_DEPLOYMENT, deploymentSpec(owner, { [version]: 10000 }));
    expect(refusal(answer)).toBe("422 invalid_spec");
  }
  expect((await rig.resource(worker)).observed.ready).toBe(true);
});

test("WD-1, WD-31 … WD-34: a create makes the distribution effective and shows it; it opens no entrance", async () => {
  using rig = new EdgeRig();
  const worker = await rig.worker();
  const [a, b] = [await rig.version(worker), await rig.version(worker)];
  const accepted = await rig.create(WORKER_DEPLOYMENT, deploymentSpec(worker, { [b]: 2500, [a]: 7500 }));
  const deployment = await rig.resource(succeeded(await rig.settled(accepted)));
  expect(deployment.output).toEqual({});
  expect(deployment.observed).toMatchObject({ ready: true, active: true });
  expect(Object.keys(deployment.observed).sort()).toEqual(["active", "ready", "selectedVersions"]);
  expect(deployment.observed.selectedVersions).toContainEqual({ resourceUid: a, weight: 7500 });
  expect(deployment.observed.selectedVersions).toContainEqual({ resourceUid: b, weight: 2500 });
  expect(rig.runtime.weightsOf(worker)).toEqual({ [a]: 7500, [b]: 2500 });
  expect(rig.runtime.hostnames.size).toBe(0);
});

test("WD-13, WD-34, WD-50, WD-A1: one Deployment a Worker, also while the first is failed or unfinished", async () => {
  using rig = new EdgeRig();
  const worker = await rig.worker();
  const bundle = await rig.bundle("late.js", ["queue"]);
  const inspecting = Promise.withResolvers<void>();
  rig.runtime.inspecting = inspecting.promise;
  const version = await rig.create(WORKER_VERSION, versionSpec(worker, bundle));
  const spec = deploymentSpec(worker, { [version.body.resourceUid]: 10000 });
  const first = await rig.create(WORKER_DEPLOYMENT, spec);
  expect(refusal(await rig.create(WORKER_DEPLOYMENT, spec))).toBe("409 dependency_conflict");
  inspecting.resolve();
  // WD-27: what showed only after the acceptance ends the Operation, and nothing was activated.
  expect(verdict(await rig.settled(first))).toBe("failed none version_not_ready");
  expect(rig.runtime.weightsOf(worker)).toBeNull();
  const good = await rig.version(worker);
  const second = await rig.create(WORKER_DEPLOYMENT, deploymentSpec(worker, { [good]: 10000 }));
  expect(refusal(second)).toBe("409 dependency_conflict");
  succeeded(await rig.settled(rig.update(first.body.resourceUid, deploymentSpec(worker, { [good]: 10000 }))));
  expect(rig.runtime.weightsOf(worker)).toEqual({ [good]: 10000 });
});

test("WD-35: a Deployment waits for Versions in progress, visibly, with nothing selected", async () => {
  using rig = new EdgeRig();
  const worker = await rig.worker();
  const inspecting = Promise.withResolvers<void>();
  const bundle = await rig.bundle();
  rig.runtime.inspecting = inspecting.promise;
  const version = await rig.create(WORKER_VERSION, versionSpec(worker, bundle));
  const spec = deploymentSpec(worker, { [version.body.resourceUid]: 10000 });
  const accepted = await rig.create(WORKER_DEPLOYMENT, spec);
  await rig.quiet();
  expect(await rig.operation(accepted.body.id)).toMatchObject({ status: "running", effect: "none" });
  expect(await rig.resource(accepted.body.resourceUid)).toMatchObject({ phase: "pending", observed: {} });
  expect(rig.runtime.weightsOf(worker)).toBeNull();
  inspecting.resolve();
  succeeded(await rig.settled(accepted));
  expect(rig.runtime.weightsOf(worker)).toEqual({ [version.body.resourceUid]: 10000 });
});

test("WD-19, WD-A3: a Version that is known to be unfit is refused before acceptance", async () => {
  using rig = new EdgeRig();
  const { worker, deployment } = await deployed(rig);
  const bundle = await rig.bundle("bad.js", ["queue"]);
  const failed = await rig.settled(rig.create(WORKER_VERSION, versionSpec(worker, bundle)));
  const spec = deploymentSpec(worker, { [failed.resourceUid]: 10000 });
  expect(refusal(await rig.update(deployment, spec))).toBe("409 dependency_conflict");
  expect((await rig.resource(deployment)).generation).toBe(1);
});

test("WD-9, WD-37 … WD-40: an update replaces the set in one step; the Worker stays", async () => {
  using rig = new EdgeRig();
  const { worker, a, b, deployment } = await deployed(rig);
  const other = await rig.worker();
  const foreign = await rig.version(other);
  const moved = await rig.update(deployment, deploymentSpec(other, { [foreign]: 10000 }));
  expect(refusal(moved)).toBe("422 invalid_spec");
  const before = rig.runtime.calls.filter((it) => it.startsWith("distribution")).length;
  succeeded(await rig.settled(rig.update(deployment, deploymentSpec(worker, { [a]: 1, [b]: 9999 }))));
  expect(rig.runtime.weightsOf(worker)).toEqual({ [a]: 1, [b]: 9999 });
  succeeded(await rig.settled(rig.update(deployment, deploymentSpec(worker, { [b]: 9999, [a]: 1 }))));
  expect(await rig.resource(deployment)).toMatchObject({ generation: 3, observedGeneration: 3 });
  succeeded(await rig.settled(rig.update(deployment, deploymentSpec(worker, { [b]: 10000 }))));
  expect(rig.runtime.weightsOf(worker)).toEqual({ [b]: 10000 });
  const steps = rig.runtime.calls.filter((it) => it.startsWith("distribution"));
  expect(steps.slice(before).every((it) => it === `distribution ${worker} set`)).toBe(true);
});

test("WD-A4, HA-176: after a failed update the last activated distribution serves and shows", async () => {
  using rig = new EdgeRig();
  const { worker, a, deployment } = await deployed(rig);
  const bundle = await rig.bundle("bad.js", ["queue"]);
  const inspecting = Promise.withResolvers<void>();
  rig.runtime.inspecting = inspecting.promise;
  const version = await rig.create(WORKER_VERSION, versionSpec(worker, bundle));
  const spec = deploymentSpec(worker, { [version.body.resourceUid]: 10000 });
  const update = await rig.update(deployment, spec);
  inspecting.resolve();
  expect(verdict(await rig.settled(update))).toBe("failed none version_not_ready");
  expect(await rig.resource(deployment)).toMatchObject({
    generation: 2,
    observedGeneration: 1,
    phase: "error",
    spec,
    observed: { ready: true, active: true, selectedVersions: [{ resourceUid: a, weight: 10000 }] },
  });
  expect(rig.runtime.weightsOf(worker)).toEqual({ [a]: 10000 });
  await rig.restart();
  expect(rig.runtime.weightsOf(worker)).toEqual({ [a]: 10000 });
});

test("WD-A6, WV-91: both the accepted and the active set keep their Versions", async () => {
  using rig = new EdgeRig();
  const { worker, a, b, deployment } = await deployed(rig);
  const inspecting = Promise.withResolvers<void>();
  const bundle = await rig.bundle();
  rig.runtime.inspecting = inspecting.promise;
  const pending = await rig.create(WORKER_VERSION, versionSpec(worker, bundle));
  const update = await rig.update(deployment, deploymentSpec(worker, { [pending.body.resourceUid]: 1, [b]: 9999 }));
  await rig.quiet();
  expect(refusal(await rig.delete(a))).toBe("409 dependency_conflict");
  expect(refusal(await rig.delete(b))).toBe("409 dependency_conflict");
  inspecting.resolve();
  succeeded(await rig.settled(update));
  succeeded(await rig.settled(rig.delete(a)));
});

test("WD-41 … WD-43, WD-A7: retirement comes a quarter of an hour after the switch, also after a restart", async () => {
  using rig = new EdgeRig();
  const { worker, a, b, deployment } = await deployed(rig);
  rig.runtime.contexts.set(a, 1);
  succeeded(await rig.settled(rig.update(deployment, deploymentSpec(worker, { [b]: 10000 }))));
  const switchedMs = Date.parse((await rig.resource(deployment)).observedAt);
  expect(rig.runtime.weightsOf(worker)).toEqual({ [b]: 10000 });
  expect(refusal(await rig.delete(a))).toBe("409 dependency_conflict");
  await rig.restart();
  rig.runtime.contexts.set(a, 1);
  const hold = rig.runtime.holdRetirement(a);
  await rig.clock.advance(switchedMs + RETIRE_AFTER_MS - 1 - rig.clock.nowMs());
  expect(rig.runtime.calls).not.toContain(`retire ${a}`);
  await rig.clock.advance(1);
  await rig.quiet();
  expect(rig.runtime.calls).toContain(`retire ${a}`);
  expect(refusal(await rig.delete(a))).toBe("409 dependency_conflict");
  hold.prove();
  await rig.quiet();
  succeeded(await rig.settled(rig.delete(a)));
  expect(rig.runtime.calls).not.toContain(`retire ${b}`);
});

test("WD-43, F4: news that come while a retirement hangs are looked at right after it", async () => {
  using rig = new EdgeRig();
  const { worker, a, b, deployment } = await deployed(rig);
  succeeded(await rig.settled(rig.update(deployment, deploymentSpec(worker, { [b]: 10000 }))));
  const hold = rig.runtime.holdRetirement(a);
  await rig.clock.advance(RETIRE_AFTER_MS);
  await rig.quiet();
  const bundle = (await rig.resource(b)).spec.bundle.resourceUid;
  for (const file of (await rig.resource(bundle)).observed.files) rig.artifacts.lose(file.sha256);
  rig.artifacts.unpublishAll();
  const update = await rig.update(bundle, (await rig.resource(bundle)).spec);
  await rig.quiet();
  hold.prove();
  await rig.settled(update);
  await rig.quiet();
  expect((await rig.resource(deployment)).observed).toMatchObject({ ready: false, active: true });
  expect((await rig.resource(worker)).observed).toEqual({ activeDeploymentUid: deployment, ready: false });
});

test("WD-36: a read is the record, whatever the runtime has come to", async () => {
  using rig = new EdgeRig();
  const { deployment } = await deployed(rig);
  const before = await rig.resource(deployment);
  rig.runtime.distributions.clear();
  expect(await rig.http("GET", `/resources/${deployment}`)).toMatchObject({ status: 200, body: before });
});

test("WD-44 … WD-46, WD-49: a delete closes selection, waits for the proof, and cascades to nothing", async () => {
  using rig = new EdgeRig();
  const { worker, a, b, deployment } = await deployed(rig);
  const hold = rig.runtime.holdRetirement(a);
  const accepted = await rig.delete(deployment);
  await rig.quiet();
  expect(rig.runtime.weightsOf(worker)).toBeNull();
  await rig.clock.advance(30_000);
  await rig.quiet();
  expect(await rig.operation(accepted.body.id)).toMatchObject({ status: "reconciling", effect: "unknown" });
  expect((await rig.resource(deployment)).phase).toBe("deleting");
  expect(refusal(await rig.delete(a))).toBe("409 dependency_conflict");
  await rig.restart();
  expect(rig.runtime.weightsOf(worker)).toBeNull();
  hold.prove();
  succeeded(await rig.settled(accepted));
  for (const uid of [worker, a, b]) expect((await rig.resource(uid)).phase).toBe("idle");
  expect((await rig.resource(worker)).observed).toEqual({ activeDeploymentUid: null, ready: false });
});

test("WD-20, WD-22, WD-25, WD-A3: entrances and Deployments are held against each other, in both orders", async () => {
  using rig = new EdgeRig();
  const { worker, a, deployment } = await deployed(rig);
  const silent = await rig.version(worker, ["queue"]);
  const endpoint = await rig.endpoint(worker);
  const mixed = deploymentSpec(worker, { [a]: 9999, [silent]: 1 });
  const refused = await rig.update(deployment, mixed);
  expect(refusal(refused)).toBe("409 dependency_conflict");
  expect(refused.body.detail).toContain(silent);
  succeeded(await rig.settled(rig.delete(endpoint)));
  succeeded(await rig.settled(rig.update(deployment, mixed)));
  expect(refusal(await rig.create(WORKER_ENDPOINT, endpointSpec(worker)))).toBe("409 dependency_conflict");
  expect(rig.runtime.weightsOf(worker)).toEqual({ [a]: 9999, [silent]: 1 });
});

test("WD-24, WD-26: of two contradicting requests at the same moment exactly one is accepted", async () => {
  for (let round = 0; round < 4; round++) {
    using rig = new EdgeRig();
    const { worker, deployment } = await deployed(rig);
    const silent = await rig.version(worker, ["queue"]);
    const entrance = (): Promise<unknown> => rig.create(WORKER_ENDPOINT, endpointSpec(worker));
    const change = (): Promise<unknown> => rig.update(deployment, deploymentSpec(worker, { [silent]: 10000 }));
    const requests = round % 2 === 0 ? [entrance(), change()] : [change(), entrance()];
    const answers = (await Promise.all(requests)) as { status: number }[];
    expect(answers.map((it) => it.status).sort((x, y) => x - y)).toEqual([202, 409]);
  }
});

test("WD-A8, WD-51, WE-A5: entrances do not block a delete and stay with their address", async () => {
  using rig = new EdgeRig();
  const { worker, deployment } = await deployed(rig);
  const endpoint = await rig.endpoint(worker);
  const { output } = await rig.resource(endpoint);
  succeeded(await rig.settled(rig.delete(deployment)));
  await rig.quiet();
  expect(await rig.resource(endpoint)).toMatchObject({
    phase: "idle",
    output,
    observed: { tlsReady: true, activeDeploymentRouteReady: false },
  });
});

test("WD-A9: a service Binding anywhere in the Host demands an HTTP answer", async () => {
  using rig = new EdgeRig();
  const { worker, deployment } = await deployed(rig);
  const silent = await rig.version(worker, []);
  const caller = await rig.version(await rig.worker(), ["fetch"], {
    serviceBindings: [{ name: "S", resource: ref(worker) }],
  });
  const spec = deploymentSpec(worker, { [silent]: 10000 });
  expect(refusal(await rig.update(deployment, spec))).toBe("409 dependency_conflict");
  succeeded(await rig.settled(rig.delete(caller)));
  succeeded(await rig.settled(rig.update(deployment, spec)));
});
