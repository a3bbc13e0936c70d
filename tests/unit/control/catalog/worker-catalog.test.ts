import { expect, test } from "bun:test";
import { numberAsWritten } from "../../../../base/exact-number.ts";
import type { Json } from "../../../../base/json.ts";
import { WorkerCatalog } from "../../../../control/catalog/worker-catalog.ts";
import { WORKER_VERSION } from "../../../../control/forms/form-urls.ts";
import { newBundle, newVersion, newWorker, ref, versionSpec } from "../../../support/forms/chain.ts";
import { sha256 } from "../../../support/forms/fake-artifacts.ts";
import { FormWorld } from "../../../support/forms/form-world.ts";
import { rejectionCode } from "../../../support/rejection.ts";

const catalogOf = (world: FormWorld): WorkerCatalog => new WorkerCatalog({ view: world, vault: world.vault });

test("WV-53: a ready Version comes with everything it declared, and nothing else", async () => {
  const world = new FormWorld();
  const [worker, service] = [await newWorker(world), await newWorker(world)];
  const vars = { LIMIT: numberAsWritten("9007199254740993") as unknown as Json, nested: { on: [true, null] } };
  const version = await newVersion(world, worker, ["fetch", "queue"], {
    vars,
    serviceBindings: [{ name: "API", resource: ref(service) }],
  });
  expect(catalogOf(world).version(version)).toEqual({
    versionUid: version,
    workerUid: worker,
    workerName: world.record(worker).name,
    versionName: world.record(version).name,
    space: world.record(version).space,
    graph: {
      entrypoint: "fetch-queue.js",
      files: [
        {
          path: "fetch-queue.js",
          mediaType: "application/javascript+module",
          sha256: sha256("// fetch-queue.js"),
          byteSize: 17,
        },
      ],
    },
    handlers: ["fetch", "queue"],
    vars: { LIMIT: 9007199254740992, nested: { on: [true, null] } },
    secretNames: [],
    bindings: [{ kind: "service", name: "API", workerUid: service }],
  });
});

test("WV-55, WV-88: what is not ready, or not a Version, is not there", async () => {
  const world = new FormWorld();
  const worker = await newWorker(world);
  const bundle = await newBundle(world);
  const { uid } = world.acceptCreate(WORKER_VERSION, versionSpec(worker, bundle));
  const catalog = catalogOf(world);
  for (const other of [uid, worker, bundle]) expect(catalog.version(other)).toBeNull();
  const version = await newVersion(world, worker);
  const used = (world.record(version).spec["bundle"] as { resourceUid: typeof version }).resourceUid;
  expect(catalog.version(version)).not.toBeNull();
  world.artifacts.lose(sha256("// fetch.js"));
  world.artifacts.unpublishAll();
  await world.update(used);
  expect(catalog.version(version)).toBeNull();
});

test("WV-48, WV-53: secrets are exactly the declared ones, or none at all", async () => {
  const world = new FormWorld();
  const worker = await newWorker(world);
  const bundle = await newBundle(world);
  const spec = versionSpec(worker, bundle, { requiredSensitiveVars: ["A", "B"] });
  const { uid } = await world.create(WORKER_VERSION, spec, { A: "1", B: "2" });
  const catalog = catalogOf(world);
  expect(await catalog.secrets(uid)).toEqual({ A: "1", B: "2" });
  expect(await catalog.secrets(await newVersion(world, worker))).toEqual({});
  await world.vault.keep(uid, { A: "1" });
  expect(await rejectionCode(catalog.secrets(uid))).toBe("backend_unavailable");
  world.vault.sealed = true;
  expect(await rejectionCode(catalog.secrets(uid))).toBe("backend_unavailable");
  expect(await rejectionCode(catalog.secrets(worker))).toBe("backend_unavailable");
});
