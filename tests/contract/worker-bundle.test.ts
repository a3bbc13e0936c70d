import { expect, test } from "bun:test";
import { WORKER_BUNDLE, WORKER_VERSION } from "../../control/forms/form-urls.ts";
import { EdgeRig, refusal, succeeded, verdict } from "../support/edge-rig.ts";
import { versionSpec } from "../support/forms/chain.ts";
import { sha256 } from "../support/forms/fake-artifacts.ts";

const DIGEST = "0".repeat(64);

test("WB-2, WB-60: all four operations, under exactly this URL", async () => {
  using rig = new EdgeRig();
  const support = (await rig.http("GET", `/support?form=${encodeURIComponent(WORKER_BUNDLE)}`)).body;
  expect(support).toMatchObject({ supported: true, operations: ["create", "read", "update", "delete"] });
  const artifact = rig.artifacts.publishBundle([{ path: "main.js", content: "1" }]);
  const newer = WORKER_BUNDLE.replace("0.2.0", "0.3.0") as typeof WORKER_BUNDLE;
  expect(refusal(await rig.create(newer, { artifact }))).toBe("422 unsupported_form");
  expect(rig.artifacts.requests).toEqual([]);
});

test("WB-8 … WB-11, WB-A2: shape, URL and digest are judged before acceptance, without any fetch", async () => {
  using rig = new EdgeRig();
  const url = "https://h.example/m";
  for (const spec of [
    {},
    { artifact: null },
    { artifact: { url } },
    { artifact: { sha256: DIGEST } },
    { artifact: { url, sha256: DIGEST, size: 1 } },
    { artifact: { url, sha256: DIGEST }, extra: true },
    { artifact: { url: "http://h.example/m", sha256: DIGEST } },
    { artifact: { url: "https://u:p@h.example/m", sha256: DIGEST } },
    { artifact: { url: `${url}?sig=x`, sha256: DIGEST } },
    { artifact: { url: `${url}#x`, sha256: DIGEST } },
    { artifact: { url, sha256: DIGEST.toUpperCase().replace("0", "A") } },
    { artifact: { url, sha256: `sha256:${DIGEST}` } },
    { artifact: { url: `https://h.example/${"x".repeat(8192)}`, sha256: DIGEST } },
  ]) {
    expect(refusal(await rig.create(WORKER_BUNDLE, spec))).toBe("422 invalid_spec");
  }
  expect(rig.artifacts.requests).toEqual([]);
});

test("WB-7, WB-13, HA-A8: no private inputs, not even an empty map", async () => {
  using rig = new EdgeRig();
  const artifact = rig.artifacts.publishBundle([{ path: "main.js", content: "1" }]);
  for (const privateInputs of [{}, { TOKEN: "x" }]) {
    expect(refusal(await rig.create(WORKER_BUNDLE, { artifact }, { privateInputs }))).toBe("422 capability_required");
  }
});

test("WB-1, WB-37 … WB-45: nothing is shown before everything is verified; then the inventory, and nothing more", async () => {
  using rig = new EdgeRig();
  const artifact = rig.artifacts.publishBundle([
    { path: "main.js", content: "export default {}" },
    { path: "lib/a.wasm", content: Uint8Array.of(0, 97), mediaType: "application/wasm" },
  ]);
  rig.artifacts.failNext(sha256(Uint8Array.of(0, 97)), "artifact_unreachable");
  const accepted = await rig.create(WORKER_BUNDLE, { artifact });
  await rig.quiet();
  const waiting = await rig.resource(accepted.body.resourceUid);
  expect([waiting.observed, waiting.output, waiting.observedAt]).toEqual([{}, {}, null]);
  const bundle = await rig.resource(succeeded(await rig.settled(accepted)));
  expect(bundle.observed).toEqual({
    manifestSha256: artifact.sha256,
    fileCount: 2,
    totalBytes: 19,
    entrypoint: "main.js",
    files: [
      {
        path: "main.js",
        sha256: sha256("export default {}"),
        mediaType: "application/javascript+module",
        byteSize: 17,
      },
      { path: "lib/a.wasm", sha256: sha256(Uint8Array.of(0, 97)), mediaType: "application/wasm", byteSize: 2 },
    ],
  });
  expect(bundle.output).toEqual({});
  expect(rig.runtime.calls).toEqual([]);
});

test("WB-48: a read fetches nothing and starts nothing", async () => {
  using rig = new EdgeRig();
  const uid = await rig.bundle();
  const before = await rig.resource(uid);
  const requests = rig.artifacts.requests.length;
  rig.artifacts.unpublishAll();
  await rig.quiet();
  expect(await rig.resource(uid)).toEqual(before);
  expect(rig.artifacts.requests).toHaveLength(requests);
});

test("WB-3, WB-36, WB-A3, WB-A4: each way to fail has its stable code and its effect, and names no URL", async () => {
  using rig = new EdgeRig();
  const failure = async (artifact: { url: string; sha256: string }): Promise<string> => {
    const operation = await rig.settled(rig.create(WORKER_BUNDLE, { artifact }));
    expect(operation.error.message).not.toContain("https://");
    expect(await rig.resource(operation.resourceUid)).toMatchObject({ phase: "error", observed: {}, output: {} });
    return verdict(operation);
  };
  const publish = (name: string, content: string) => rig.artifacts.publish(name, content);
  const publishBundle = (content: string | Uint8Array) => rig.artifacts.publishBundle([{ path: "main.js", content }]);
  expect(await failure({ ...publish("a", "x"), sha256: DIGEST })).toBe("failed none artifact_digest_mismatch");
  expect(await failure(publish("b", "{"))).toBe("failed none artifact_manifest_invalid");
  expect(await failure({ url: "https://gone.example/m", sha256: DIGEST })).toBe("failed none artifact_unreachable");
  const refused = publishBundle("refused");
  rig.artifacts.failNext(refused.sha256, "artifact_policy_refused");
  expect(await failure(refused)).toBe("failed none artifact_policy_refused");
  const large = publishBundle(new Uint8Array(16_777_217));
  expect(await failure(large)).toBe("failed none artifact_limit_exceeded");
});

test("WB-53, HA-110: a failed bundle is finished by an update of the same Resource, or removed", async () => {
  using rig = new EdgeRig();
  const artifact = rig.artifacts.publishBundle([{ path: "main.js", content: "late" }]);
  rig.artifacts.failNext(artifact.sha256, "artifact_policy_refused");
  const { resourceUid: uid } = await rig.settled(rig.create(WORKER_BUNDLE, { artifact }));
  succeeded(await rig.settled(rig.update(uid, { artifact })));
  expect((await rig.resource(uid)).observed.fileCount).toBe(1);
  rig.artifacts.failNext(artifact.sha256, "artifact_policy_refused");
  const second = await rig.settled(rig.create(WORKER_BUNDLE, { artifact }));
  succeeded(await rig.settled(rig.delete(second.resourceUid)));
  expect(rig.artifacts.ownersOf(artifact.sha256)).toEqual([uid]);
});

test("WB-49, WB-A5: a changed artifact is refused and the generation stays", async () => {
  using rig = new EdgeRig();
  const uid = await rig.bundle();
  const { artifact } = (await rig.resource(uid)).spec;
  for (const change of [
    { ...artifact, url: `${artifact.url}x` },
    { ...artifact, sha256: DIGEST },
  ]) {
    expect(refusal(await rig.update(uid, { artifact: change }))).toBe("422 invalid_spec");
  }
  expect((await rig.resource(uid)).generation).toBe(1);
});

test("WB-50, WB-55, WB-56: after a restart, with the source gone, a same-spec update still finds everything", async () => {
  using rig = new EdgeRig();
  const uid = await rig.bundle();
  const before = await rig.resource(uid);
  rig.artifacts.unpublishAll();
  await rig.restart();
  expect(await rig.resource(uid)).toEqual(before);
  const { artifact } = before.spec;
  succeeded(await rig.settled(rig.update(uid, { artifact: { sha256: artifact.sha256, url: artifact.url } })));
  const after = await rig.resource(uid);
  expect(after).toMatchObject({ generation: 2, observedGeneration: 2, observed: before.observed });
});

test("WB-A6: what is lost for good is not shown as held any more", async () => {
  using rig = new EdgeRig();
  const uid = await rig.bundle();
  rig.artifacts.lose(sha256("// main.js"));
  rig.artifacts.unpublishAll();
  const operation = await rig.settled(rig.update(uid, (await rig.resource(uid)).spec));
  expect(verdict(operation)).toBe("failed partial artifact_unreachable");
  expect(await rig.resource(uid)).toMatchObject({ phase: "error", observed: {}, observedGeneration: 1 });
});

test("WB-46, WB-53: a restart in the middle of an acquisition ends in the same Operation", async () => {
  using rig = new EdgeRig();
  const artifact = rig.artifacts.publishBundle([{ path: "main.js", content: "1" }]);
  rig.artifacts.failNext(sha256("1"), "artifact_unreachable", "artifact_unreachable");
  const accepted = await rig.create(WORKER_BUNDLE, { artifact });
  await rig.quiet();
  const waiting = await rig.operation(accepted.body.id);
  expect(waiting).toMatchObject({ effect: "partial" });
  expect(["running", "reconciling"]).toContain(waiting.status);
  await rig.restart();
  expect(verdict(await rig.settled(accepted))).toBe("succeeded");
});

test("WB-54: the same request under its key is the same Operation", async () => {
  using rig = new EdgeRig();
  const artifact = rig.artifacts.publishBundle([{ path: "main.js", content: "1" }]);
  const options = { key: "one-and-the-same-key", name: "bundle" };
  const first = await rig.create(WORKER_BUNDLE, { artifact }, options);
  await rig.settled(first);
  const again = await rig.create(WORKER_BUNDLE, { artifact }, options);
  expect(again).toMatchObject({ status: 200, body: { id: first.body.id, status: "succeeded" } });
  const otherwise = { artifact: { ...artifact, sha256: DIGEST } };
  expect(refusal(await rig.create(WORKER_BUNDLE, otherwise, options))).toBe("409 idempotency_conflict");
});

test("WB-51, WB-52, WB-58, WB-59: a bundle stays while a Version refers to it, and then goes alone", async () => {
  using rig = new EdgeRig();
  const worker = await rig.worker();
  const bundle = await rig.bundle();
  const twin = await rig.made(WORKER_BUNDLE, (await rig.resource(bundle)).spec);
  const version = (await rig.made(WORKER_VERSION, versionSpec(worker, bundle))).uid;
  const before = await rig.resource(bundle);
  expect(refusal(await rig.delete(bundle))).toBe("409 dependency_conflict");
  expect(await rig.resource(bundle)).toEqual(before);
  succeeded(await rig.settled(rig.delete(version)));
  succeeded(await rig.settled(rig.delete(bundle)));
  expect(rig.artifacts.ownersOf(sha256("// main.js"))).toEqual([twin.uid]);
  succeeded(await rig.settled(rig.update(twin.uid, twin.spec)));
});

test("WB-51, HA-177: a bundle whose deletion was accepted takes no new reference", async () => {
  using rig = new EdgeRig();
  const worker = await rig.worker();
  const bundle = await rig.bundle();
  await rig.delete(bundle);
  const version = await rig.create(WORKER_VERSION, versionSpec(worker, bundle));
  expect(version.status).toBeGreaterThanOrEqual(409);
});
