import { expect, test } from "bun:test";
import { WORKER_BUNDLE, WORKER_VERSION } from "../../../../../control/forms/form-urls.ts";
import { newBundle, newVersion, newWorker, succeeded, verdict, versionSpec } from "../../../../support/forms/chain.ts";
import { sha256 } from "../../../../support/forms/fake-artifacts.ts";
import { FormWorld } from "../../../../support/forms/form-world.ts";
import { rejection } from "../../../../support/rejection.ts";

const MIB = 1_048_576;
const blob = (bytes: number, fill = 7): Uint8Array => new Uint8Array(bytes).fill(fill);

test("WB-38 … WB-42, WB-44: success shows the whole inventory in the manifest's order, without URLs", async () => {
  const world = new FormWorld();
  const artifact = world.artifacts.publishBundle(
    [
      { path: "z/data.bin", content: Uint8Array.of(1, 2, 3), mediaType: "application/octet-stream" },
      { path: "main.js", content: "export default {}" },
      { path: "empty.txt", content: "", mediaType: "text/plain" },
      { path: "main.js.map", content: "{}", mediaType: "application/source-map+json" },
    ],
    "main.js",
  );
  const { record } = await world.create(WORKER_BUNDLE, { artifact });
  expect(record.observed).toEqual({
    manifestSha256: artifact.sha256,
    fileCount: 4,
    totalBytes: 3 + 17 + 0 + 2,
    entrypoint: "main.js",
    files: [
      {
        path: "z/data.bin",
        sha256: sha256(Uint8Array.of(1, 2, 3)),
        mediaType: "application/octet-stream",
        byteSize: 3,
      },
      {
        path: "main.js",
        sha256: sha256("export default {}"),
        mediaType: "application/javascript+module",
        byteSize: 17,
      },
      { path: "empty.txt", sha256: sha256(""), mediaType: "text/plain", byteSize: 0 },
      { path: "main.js.map", sha256: sha256("{}"), mediaType: "application/source-map+json", byteSize: 2 },
    ],
  });
  expect(record.output).toEqual({});
  expect(JSON.stringify(record.observed)).not.toContain("artifacts.example");
});

test("WB-14, WB-24, WB-34: every read is bounded by what the limits leave", async () => {
  const world = new FormWorld();
  await newBundle(world);
  expect(world.artifacts.requests.map((it) => it.bytesMax)).toEqual([MIB, 16 * MIB]);
});

test("WB-24: 128 MiB in files of 16 MiB are legal, one byte more is not", async () => {
  const world = new FormWorld();
  const files = Array.from({ length: 8 }, (_, i) => {
    return { path: `${i}.bin`, content: blob(16 * MIB, i), mediaType: "application/octet-stream" };
  });
  const main = { path: "main.js", content: "" };
  const full = world.artifacts.publishBundle([main, ...files]);
  const { record } = await world.create(WORKER_BUNDLE, { artifact: full });
  expect(record.observed["totalBytes"]).toBe(128 * MIB);
  const over = world.artifacts.publishBundle([{ path: "main.js", content: "x" }, ...files]);
  expect(verdict(await world.create(WORKER_BUNDLE, { artifact: over }))).toBe("failed none artifact_limit_exceeded");
});

test("WB-24: a file of more than 16 MiB fails", async () => {
  const world = new FormWorld();
  const artifact = world.artifacts.publishBundle([{ path: "main.js", content: blob(16 * MIB + 1) }]);
  expect(verdict(await world.create(WORKER_BUNDLE, { artifact }))).toBe("failed none artifact_limit_exceeded");
});

test("WB-14: a manifest of more than 1 MiB fails", async () => {
  const world = new FormWorld();
  const artifact = world.artifacts.publish("m", JSON.stringify({ entrypoint: "x".repeat(MIB), files: [] }));
  expect(verdict(await world.create(WORKER_BUNDLE, { artifact }))).toBe("failed none artifact_limit_exceeded");
});

test("WB-A7: the same bytes twice count twice", async () => {
  const world = new FormWorld();
  const artifact = world.artifacts.publishBundle([
    { path: "a.js", content: "same" },
    { path: "b.js", content: "same" },
  ]);
  const { record } = await world.create(WORKER_BUNDLE, { artifact });
  expect(record.observed).toMatchObject({ fileCount: 2, totalBytes: 8 });
});

test("files are read a few at a time", async () => {
  const world = new FormWorld();
  const files = Array.from({ length: 40 }, (_, i) => ({ path: `${i}.js`, content: `${i}` }));
  succeeded(await world.create(WORKER_BUNDLE, { artifact: world.artifacts.publishBundle(files) }));
  expect(world.artifacts.inFlightMax).toBe(4);
});

test("WB-36, WB-A3: a manifest that is none fails with its own code", async () => {
  const world = new FormWorld();
  const artifact = world.artifacts.publish("m", '{"entrypoint":"a.js","files":[]}');
  expect(verdict(await world.create(WORKER_BUNDLE, { artifact }))).toBe("failed none artifact_manifest_invalid");
});

test("WB-36, WB-A3: a wrong digest and a refused source fail at once, and nothing is shown as verified", async () => {
  const world = new FormWorld();
  const artifact = { ...world.artifacts.publishBundle([{ path: "main.js", content: "1" }]), sha256: "0".repeat(64) };
  const mismatch = await world.create(WORKER_BUNDLE, { artifact });
  expect(verdict(mismatch)).toBe("failed none artifact_digest_mismatch");
  expect(mismatch.record.observed).toEqual({});
  const refused = world.artifacts.publishBundle([{ path: "main.js", content: "2" }]);
  world.artifacts.failNext(refused.sha256, "artifact_policy_refused");
  expect(verdict(await world.create(WORKER_BUNDLE, { artifact: refused }))).toBe("failed none artifact_policy_refused");
});

test("WB-A4: a failure after some files leaves no pin behind, so its effect is none", async () => {
  const world = new FormWorld();
  const artifact = world.artifacts.publishBundle([
    { path: "main.js", content: "kept for a moment" },
    { path: "bad.js", content: "bad" },
  ]);
  world.artifacts.failNext(sha256("bad"), "artifact_digest_mismatch");
  const accepted = world.acceptCreate(WORKER_BUNDLE, { artifact });
  const settled = await world.settle(accepted);
  expect(verdict(settled)).toBe("failed none artifact_digest_mismatch");
  expect(world.noted).toContain("partial");
  expect(world.artifacts.ownersOf(artifact.sha256)).toEqual([]);
  expect(world.artifacts.ownersOf(sha256("kept for a moment"))).toEqual([]);
});

test("WB-53, WB-A4: when the cleaning up itself fails, no end is claimed", async () => {
  const world = new FormWorld();
  const artifact = world.artifacts.publish("m", "no manifest");
  world.artifacts.releaseFault = new Error("disk");
  const accepted = world.acceptCreate(WORKER_BUNDLE, { artifact });
  expect((await rejection(world.step(accepted))).message).toBe("disk");
  world.artifacts.releaseFault = null;
  expect(verdict(await world.settle(accepted))).toBe("failed none artifact_manifest_invalid");
});

test("WB-35, WB-A3: a source that does not answer is tried again, and in the end the Operation fails", async () => {
  const world = new FormWorld();
  const artifact = world.artifacts.publishBundle([{ path: "main.js", content: "1" }]);
  world.artifacts.unpublishAll();
  const startMs = world.clock.nowMs();
  expect(verdict(await world.create(WORKER_BUNDLE, { artifact }))).toBe("failed none artifact_unreachable");
  expect(world.artifacts.requests).toHaveLength(6);
  expect(world.clock.nowMs() - startMs).toBe(31_000);
});

test("WB-46: a source that comes back in time is enough, and nothing that was held is fetched again", async () => {
  const world = new FormWorld();
  const artifact = world.artifacts.publishBundle([{ path: "main.js", content: "1" }]);
  world.artifacts.failNext(sha256("1"), "artifact_unreachable", "artifact_unreachable");
  const accepted = world.acceptCreate(WORKER_BUNDLE, { artifact });
  expect(await world.step(accepted)).toMatchObject({ type: "unresolved", effect: "partial", retryAfterMs: 1000 });
  expect(world.record(accepted.uid).observed).toEqual({});
  expect(await world.step(accepted)).toMatchObject({ type: "unresolved", effect: "partial", retryAfterMs: 2000 });
  expect(await world.step(accepted)).toMatchObject({ type: "succeeded" });
});

test("a failure that is final wins over one that may pass", async () => {
  const world = new FormWorld();
  const artifact = world.artifacts.publishBundle([
    { path: "a.js", content: "a" },
    { path: "b.js", content: "b" },
  ]);
  world.artifacts.failNext(sha256("a"), "artifact_unreachable");
  world.artifacts.failNext(sha256("b"), "artifact_digest_mismatch");
  expect(verdict(await world.create(WORKER_BUNDLE, { artifact }))).toBe("failed none artifact_digest_mismatch");
});

test("WB-8, WB-49, WB-A5: another url or digest is refused, key order is not looked at", async () => {
  const world = new FormWorld();
  const uid = await newBundle(world);
  const { url, sha256: digest } = world.record(uid).spec["artifact"] as { url: string; sha256: string };
  const refusal = (artifact: { url: string; sha256: string }): string =>
    world.refusal(() => world.acceptUpdate(uid, { artifact }));
  expect(refusal({ url: `${url}x`, sha256: digest })).toBe("invalid_spec");
  expect(refusal({ url, sha256: "0".repeat(64) })).toBe("invalid_spec");
  expect(() => world.acceptUpdate(uid, { artifact: { sha256: digest, url } })).not.toThrow();
});

test("WB-50, WB-56: a same-spec update verifies what is kept without any source", async () => {
  const world = new FormWorld();
  const uid = await newBundle(world);
  const before = world.record(uid).observed;
  world.artifacts.unpublishAll();
  world.restart();
  const asked = world.artifacts.requests.length;
  const settled = await world.update(uid);
  expect(verdict(settled)).toBe("succeeded");
  expect(settled.record.observed).toEqual(before);
  expect(world.artifacts.requests).toHaveLength(asked);
});

test("WB-A6: content that got lost is acquired again from the declared source", async () => {
  const world = new FormWorld();
  const uid = await newBundle(world);
  world.artifacts.lose(sha256("// main.js"));
  expect(verdict(await world.update(uid))).toBe("succeeded");
  expect(await world.artifacts.holds(sha256("// main.js"), uid)).toBe(true);
});

test("WB-A6: content that stays lost fails the update, and custody is no longer shown", async () => {
  const world = new FormWorld();
  const worker = await newWorker(world);
  const version = await newVersion(world, worker);
  const uid = world.resourcesOf(WORKER_BUNDLE)[0]!.uid;
  const manifest = (world.record(uid).spec["artifact"] as { sha256: ReturnType<typeof sha256> }).sha256;
  world.artifacts.lose(sha256("// fetch.js"));
  world.artifacts.unpublishAll();
  const settled = await world.update(uid);
  expect(verdict(settled)).toBe("failed partial artifact_unreachable");
  expect(settled.record.observed).toEqual({});
  // WB-55: what is left is still needed by the Version, so it stays pinned.
  expect(world.artifacts.ownersOf(manifest)).toEqual([uid]);
  expect(world.record(version).observed).toMatchObject({ ready: false, bundleVerified: false });
});

test("HA-110: an update of a Resource whose create failed acquires everything anew", async () => {
  const world = new FormWorld();
  const artifact = world.artifacts.publishBundle([{ path: "main.js", content: "1" }]);
  world.artifacts.failNext(artifact.sha256, "artifact_policy_refused");
  const { uid } = await world.create(WORKER_BUNDLE, { artifact });
  expect(verdict(await world.update(uid))).toBe("succeeded");
});

test("WB-51: deletion waits for every WorkerVersion, ready or not", async () => {
  const world = new FormWorld();
  const worker = await newWorker(world);
  const bundle = await newBundle(world);
  world.runtime.reports.set("main.js", { ok: true, handlers: ["queue"], classes: [] });
  const { uid: failed } = await world.create(WORKER_VERSION, versionSpec(worker, bundle));
  expect(world.record(failed).phase).toBe("error");
  expect(world.refusal(() => world.acceptDelete(bundle))).toBe("dependency_conflict");
  const deleting = world.acceptDelete(failed);
  expect(world.refusal(() => world.acceptDelete(bundle))).toBe("dependency_conflict");
  await world.settle(deleting);
  expect(verdict(await world.delete(bundle))).toBe("succeeded");
});

test("WB-52, WB-58: deletion releases this Resource's pins and no other's", async () => {
  const world = new FormWorld();
  const artifact = world.artifacts.publishBundle([{ path: "main.js", content: "shared" }]);
  const [first, second] = [
    await world.create(WORKER_BUNDLE, { artifact }),
    await world.create(WORKER_BUNDLE, { artifact }),
  ];
  await world.delete(first.uid);
  expect(world.artifacts.ownersOf(sha256("shared"))).toEqual([second.uid]);
  expect(verdict(await world.update(second.uid))).toBe("succeeded");
  await world.delete(second.uid);
  expect(await world.artifacts.read(sha256("shared")).catch((error: Error) => error.message)).toContain("not held");
});

test("WB-6: nothing is executed for a bundle", async () => {
  const world = new FormWorld();
  await newBundle(world);
  expect(world.runtime.calls).toEqual([]);
});
