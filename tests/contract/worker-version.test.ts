import { expect, test } from "bun:test";
import { MODULE_WORKER, WORKER_BUNDLE, WORKER_VERSION } from "../../control/forms/form-urls.ts";
import { deploymentSpec, ref, versionSpec } from "../support/forms/chain.ts";
import { EdgeRig, refusal, succeeded, verdict } from "../support/edge-rig.ts";
import { sha256 } from "../support/forms/fake-artifacts.ts";

test("WV-4, WV-44, WV-96: all four operations and private inputs, under exactly this URL", async () => {
  using rig = new EdgeRig();
  const support = (await rig.http("GET", `/support?form=${encodeURIComponent(WORKER_VERSION)}`)).body;
  const operations = ["create", "read", "update", "delete"];
  expect(support).toEqual({ form: WORKER_VERSION, supported: true, operations, privateInputs: true });
  const newer = WORKER_VERSION.replace("0.5.0", "0.6.0") as typeof WORKER_VERSION;
  expect(refusal(await rig.create(newer, {}))).toBe("422 unsupported_form");
});

test("WV-5 … WV-9, WV-15, WV-A4: references are exact uids of the exact Form in the same Space", async () => {
  using rig = new EdgeRig();
  const worker = await rig.worker();
  const bundle = await rig.bundle();
  rig.token("someone", "elsewhere");
  const far = (await rig.made(MODULE_WORKER, {}, { space: "elsewhere" })).uid;
  const service = (uid: string): object => ({ serviceBindings: [{ name: "S", resource: ref(uid) }] });
  for (const spec of [
    versionSpec("r-nobody", bundle),
    versionSpec(bundle, bundle),
    versionSpec(worker, worker),
    versionSpec(worker, "r-nobody"),
    versionSpec(far, bundle),
    { ...versionSpec(worker, bundle), ...service(bundle) },
    { ...versionSpec(worker, bundle), ...service(far) },
    { ...versionSpec(worker, bundle), worker: { resourceUid: worker, name: "w" } },
    { ...versionSpec(worker, bundle), worker },
  ]) {
    expect(refusal(await rig.create(WORKER_VERSION, spec))).toBe("422 invalid_spec");
  }
});

test("WV-6, HA-46: to use a target takes its own permission", async () => {
  using rig = new EdgeRig();
  const spec = versionSpec(await rig.worker(), await rig.bundle());
  const token = rig.token("writer", "default", ["read", "write"]);
  expect(refusal(await rig.create(WORKER_VERSION, spec, { token }))).toBe("422 invalid_spec");
  expect((await rig.create(WORKER_VERSION, spec, { token: rig.token("user") })).status).toBe(202);
});

test("WV-18 … WV-26, WV-32 … WV-37: the grammar is checked before acceptance and leaves nothing behind", async () => {
  using rig = new EdgeRig();
  const base = versionSpec(await rig.worker(), await rig.bundle());
  const { bundle: _, ...bare } = base;
  for (const spec of [
    { ...base, handlers: ["fetch", "fetch"] },
    { ...base, handlers: ["alarm"] },
    { ...base, vars: null },
    { ...base, vars: { "1a": 1 } },
    { ...base, vars: { a: "x".repeat(8193) } },
    { ...base, requiredSensitiveVars: ["lower"] },
    { ...base, vars: { A: 1 }, requiredSensitiveVars: ["A"] },
    { ...base, serviceBindings: [{ name: "1a", resource: base["worker"] }] },
    { ...base, extra: 1 },
    bare,
  ]) {
    expect(refusal(await rig.create(WORKER_VERSION, spec, { privateInputs: {} }))).toBe("422 invalid_spec");
  }
  const versions = await rig.http("GET", `/resources?form=${encodeURIComponent(WORKER_VERSION)}`);
  expect(versions.body.items).toEqual([]);
});

test("what this Host does not offer yet is refused by name, and empty arrays are fine", async () => {
  using rig = new EdgeRig();
  const base = versionSpec(await rig.worker(), await rig.bundle());
  for (const field of [
    "kvBindings",
    "sqliteBindings",
    "bucketBindings",
    "queueProducerBindings",
    "actorBindings",
    "workflowBindings",
  ]) {
    const answer = await rig.create(WORKER_VERSION, { ...base, [field]: [{ name: "X", resource: ref("r-any") }] });
    expect(refusal(answer)).toBe("422 invalid_spec");
    expect(answer.body.detail).toContain("does not support");
    expect((await rig.create(WORKER_VERSION, { ...base, [field]: [] })).status).toBe(202);
  }
});

test("WV-1 … WV-3, WV-87 … WV-89: a verified snapshot is ready, and receives nothing", async () => {
  using rig = new EdgeRig();
  const worker = await rig.worker();
  const service = await rig.worker();
  const bundle = await rig.bundle("main.js", ["fetch", "queue"]);
  const spec = versionSpec(worker, bundle, {
    handlers: ["queue", "fetch"],
    vars: { LIMIT: 3, deep: { list: [1, null, "x"] } },
    serviceBindings: [{ name: "API", resource: ref(service) }],
  });
  const accepted = await rig.create(WORKER_VERSION, spec);
  const version = await rig.resource(succeeded(await rig.settled(accepted)));
  expect(version).toMatchObject({
    spec,
    observed: { ready: true, resolvedBindings: true, bundleVerified: true },
    output: {},
    observedGeneration: 1,
  });
  expect(Object.keys(version.observed)).toHaveLength(3);
  expect(rig.runtime.distributions.size).toBe(0);
  expect((await rig.resource(worker)).observed).toEqual({ activeDeploymentUid: null, ready: false });
});

test("WV-20, WV-A1, WV-A5: a definite mismatch fails the Operation with effect none and a stable code", async () => {
  using rig = new EdgeRig();
  const worker = await rig.worker();
  const bundle = await rig.bundle("main.js", ["fetch", "queue"]);
  const operation = await rig.settled(rig.create(WORKER_VERSION, versionSpec(worker, bundle)));
  expect(verdict(operation)).toBe("failed none handler_mismatch");
  expect(await rig.resource(operation.resourceUid)).toMatchObject({
    phase: "error",
    observed: {},
    observedGeneration: 0,
  });
  for (const code of ["module_not_found", "module_evaluation_failed", "inspection_timeout"] as const) {
    rig.runtime.reports.set("main.js", { ok: false, code, message: "The module is at fault." });
    const failed = await rig.settled(rig.create(WORKER_VERSION, versionSpec(worker, bundle)));
    expect(verdict(failed)).toBe(`failed none ${code}`);
  }
});

test("WV-A5: a Version waits for its bundle, and is never ready before", async () => {
  using rig = new EdgeRig();
  const worker = await rig.worker();
  const artifact = rig.artifacts.publishBundle([{ path: "main.js", content: "1" }]);
  rig.artifacts.failNext(sha256("1"), "artifact_unreachable");
  const bundle = await rig.create(WORKER_BUNDLE, { artifact });
  await rig.quiet();
  const accepted = await rig.create(WORKER_VERSION, versionSpec(worker, bundle.body.resourceUid));
  await rig.quiet();
  expect(await rig.operation(accepted.body.id)).toMatchObject({ status: "running", effect: "none" });
  expect((await rig.resource(accepted.body.resourceUid)).observed).toEqual({});
  expect(verdict(await rig.settled(accepted))).toBe("succeeded");
  expect((await rig.operation(bundle.body.id)).status).toBe("succeeded");
  const broken = await rig.settled(rig.create(WORKER_BUNDLE, { artifact: rig.artifacts.publish("m", "{") }));
  const late = await rig.create(WORKER_VERSION, versionSpec(worker, broken.resourceUid));
  expect(refusal(late)).toBe("409 dependency_conflict");
});

test("WV-44, WV-49: every declared secret, no other, none empty, all at once", async () => {
  using rig = new EdgeRig();
  const spec = versionSpec(await rig.worker(), await rig.bundle(), { requiredSensitiveVars: ["A", "B"] });
  for (const privateInputs of [
    undefined,
    {},
    { A: "1" },
    { A: "1", B: "" },
    { A: "1", B: "2", C: "3" },
    { A: "1", C: "2" },
  ]) {
    const options = privateInputs === undefined ? {} : { privateInputs };
    expect(refusal(await rig.create(WORKER_VERSION, spec, options))).toBe("422 invalid_spec");
  }
  expect((await rig.create(WORKER_VERSION, spec, { privateInputs: { A: "1", B: 2 } })).status).toBe(400);
  expect((await rig.create(WORKER_VERSION, spec, { privateInputs: { B: "2", A: "1" } })).status).toBe(202);
  const plain = versionSpec(await rig.worker(), await rig.bundle());
  expect(refusal(await rig.create(WORKER_VERSION, plain, { privateInputs: { A: "1" } }))).toBe("422 invalid_spec");
  expect((await rig.create(WORKER_VERSION, plain, { privateInputs: {} })).status).toBe(202);
});

test("WV-A3, HA-54: without the capability a secret-bearing spec is refused as such, a plain one is not", async () => {
  using rig = new EdgeRig();
  await rig.restart({ config: { capabilities: { previews: true, privateInputs: false } } });
  const [worker, bundle] = [await rig.worker(), await rig.bundle()];
  const secret = versionSpec(worker, bundle, { requiredSensitiveVars: ["A"] });
  expect(refusal(await rig.create(WORKER_VERSION, secret))).toBe("422 capability_required");
  expect((await rig.create(WORKER_VERSION, versionSpec(worker, bundle))).status).toBe(202);
});

test("WV-2, WV-45: secret values are in no answer, no record and no log line", async () => {
  using rig = new EdgeRig();
  const spec = versionSpec(await rig.worker(), await rig.bundle(), { requiredSensitiveVars: ["TOKEN"] });
  const hush = "hush-hush-4711";
  const accepted = await rig.create(WORKER_VERSION, spec, { privateInputs: { TOKEN: hush } });
  const { resourceUid: uid, id } = await rig.settled(accepted);
  expect(await rig.vault.reveal(uid)).toEqual({ TOKEN: hush });
  const digest = new Bun.CryptoHasher("sha256").update(hush).digest("hex");
  const wrong = await rig.update(uid, spec, { privateInputs: { TOKEN: `${hush}-other` } });
  const list = await rig.http("GET", "/resources");
  const texts = [accepted.text, wrong.text, list.text, ...rig.rig.logged].concat(
    JSON.stringify(await rig.operation(id)),
    JSON.stringify(rig.rig.store.resources.get(uid)),
  );
  for (const text of texts) {
    expect(text).not.toContain(hush);
    expect(text).not.toContain(digest);
  }
});

test("WV-46, WV-47, WV-50, WV-51: an update keeps the secrets; different or partial values are refused before effects", async () => {
  using rig = new EdgeRig();
  const spec = versionSpec(await rig.worker(), await rig.bundle(), { requiredSensitiveVars: ["A", "B"] });
  const { uid } = await rig.made(WORKER_VERSION, spec, { privateInputs: { A: "1", B: "2" } });
  for (const privateInputs of [{}, { A: "1" }, { A: "1", B: "3" }, { A: "1", B: "2", C: "3" }]) {
    expect(refusal(await rig.update(uid, spec, { privateInputs }))).toBe("422 invalid_spec");
  }
  expect((await rig.resource(uid)).generation).toBe(1);
  succeeded(await rig.settled(rig.update(uid, spec)));
  succeeded(await rig.settled(rig.update(uid, spec, { privateInputs: { B: "2", A: "1" } })));
  expect(await rig.resource(uid)).toMatchObject({ generation: 3, observedGeneration: 3 });
  expect(await rig.vault.reveal(uid)).toEqual({ A: "1", B: "2" });
});

test("WV-48: with the key lost, Ready drops and nothing is set in its place", async () => {
  using rig = new EdgeRig();
  const spec = versionSpec(await rig.worker(), await rig.bundle(), { requiredSensitiveVars: ["A"] });
  const { uid } = await rig.made(WORKER_VERSION, spec, { privateInputs: { A: "1" } });
  const masterKey = new Uint8Array(32).fill(9);
  await rig.restart({ masterKey });
  await rig.quiet();
  expect((await rig.resource(uid)).observed).toEqual({ ready: false, resolvedBindings: true, bundleVerified: true });
  const operation = await rig.settled(rig.update(uid, spec, { privateInputs: { A: "anything" } }));
  expect(verdict(operation)).toBe("failed none secrets_unavailable");
  await rig.restart();
  await rig.quiet();
  expect((await rig.resource(uid)).observed).toMatchObject({ ready: true });
  expect(await rig.vault.reveal(uid)).toEqual({ A: "1" });
});

test("WV-39 … WV-43, WV-90: equality is by meaning; any other difference is refused", async () => {
  using rig = new EdgeRig();
  const [worker, bundle] = [await rig.worker(), await rig.bundle("main.js", ["fetch", "queue"])];
  const head = `"worker":{"resourceUid":"${worker}"},"bundle":{"resourceUid":"${bundle}"}`;
  const spec = `{${head},"handlers":["fetch","queue"],"vars":{"n":9007199254740993,"o":{"x":1,"y":[1,2]}}}`;
  const { uid } = await rig.made(WORKER_VERSION, spec);
  expect((await rig.http("GET", `/resources/${uid}`)).text).toContain("9007199254740993");
  const update = (text: string) => rig.update(uid, text);
  const same = `{"vars":{"o":{"y":[1.0,2e0],"x":1},"n":9007199254740993.0},"kvBindings":[],"requiredSensitiveVars":[],"handlers":["queue","fetch"],${head}}`;
  succeeded(await rig.settled(update(same)));
  for (const [from, to] of [
    ["9007199254740993", "9007199254740992"],
    ["[1,2]", "[2,1]"],
    ['"fetch","queue"', '"fetch"'],
    ['"x":1', '"x":1,"z":0'],
    ['"n":', '"N":'],
  ] as const) {
    expect(refusal(await update(spec.replace(from, to)))).toBe("422 invalid_spec");
  }
  expect((await rig.resource(uid)).generation).toBe(2);
});

test("WV-53, WV-55: what is missing later shows, for as long as it is missing", async () => {
  using rig = new EdgeRig();
  const version = await rig.version(await rig.worker());
  const bundle = (await rig.resource(version)).spec.bundle.resourceUid;
  rig.artifacts.lose(sha256("// fetch.js"));
  rig.artifacts.unpublishAll();
  await rig.settled(rig.update(bundle, (await rig.resource(bundle)).spec));
  expect((await rig.resource(version)).observed).toEqual({
    ready: false,
    resolvedBindings: true,
    bundleVerified: false,
  });
  rig.artifacts.publish("files/fetch.js", "// fetch.js");
  succeeded(await rig.settled(rig.update(bundle, (await rig.resource(bundle)).spec)));
  expect((await rig.resource(version)).observed).toMatchObject({ ready: true, bundleVerified: true });
});

test("WV-91, WV-92: weighted or running, a Version stays; then it goes alone", async () => {
  using rig = new EdgeRig();
  const worker = await rig.worker();
  const [a, b] = [await rig.version(worker), await rig.version(worker)];
  const deployment = await rig.deployment(worker, { [a]: 10000 });
  expect(refusal(await rig.delete(a))).toBe("409 dependency_conflict");
  rig.runtime.contexts.set(a, 2);
  succeeded(await rig.settled(rig.update(deployment, deploymentSpec(worker, { [b]: 10000 }))));
  expect(refusal(await rig.delete(a))).toBe("409 dependency_conflict");
  rig.runtime.contexts.delete(a);
  const bundle = (await rig.resource(a)).spec.bundle.resourceUid;
  succeeded(await rig.settled(rig.delete(a)));
  expect((await rig.resource(bundle)).phase).toBe("idle");
  expect(rig.runtime.calls).toContain(`retire ${a}`);
});

test("WV-91, WV-92: while retirement is not proved, the deletion keeps reconciling", async () => {
  using rig = new EdgeRig();
  const version = await rig.version(await rig.worker());
  const hold = rig.runtime.holdRetirement(version);
  const accepted = await rig.delete(version);
  await rig.quiet();
  await rig.clock.advance(30_000);
  await rig.quiet();
  expect(await rig.operation(accepted.body.id)).toMatchObject({ status: "reconciling", effect: "unknown" });
  expect((await rig.resource(version)).phase).toBe("deleting");
  hold.prove();
  succeeded(await rig.settled(accepted));
});

test("WV-95: the same request under its key finds the same Operation, also after a restart", async () => {
  using rig = new EdgeRig();
  const spec = versionSpec(await rig.worker(), await rig.bundle(), { requiredSensitiveVars: ["A"] });
  const options = { key: "one-and-the-same-key", name: "v", privateInputs: { A: "1" } };
  const accepted = await rig.create(WORKER_VERSION, spec, options);
  await rig.restart();
  rig.runtime.reports.set("main.js", { ok: true, handlers: ["fetch"], classes: [] });
  succeeded(await rig.settled(accepted));
  expect((await rig.create(WORKER_VERSION, spec, options)).body.id).toBe(accepted.body.id);
  const other = await rig.create(WORKER_VERSION, spec, { ...options, privateInputs: { A: "2" } });
  expect(refusal(other)).toBe("409 idempotency_conflict");
});

test("WD-20, WD-22, WD-A9: a service Binding to a Worker that cannot answer HTTP is refused", async () => {
  using rig = new EdgeRig();
  const target = await rig.worker();
  await rig.deployment(target, { [await rig.version(target, ["queue"])]: 10000 });
  const spec = versionSpec(await rig.worker(), await rig.bundle(), {
    serviceBindings: [{ name: "S", resource: ref(target) }],
  });
  expect(refusal(await rig.create(WORKER_VERSION, spec))).toBe("409 dependency_conflict");
});
