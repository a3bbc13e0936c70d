// The registry with Forms that this Host does not have yet: what needs a handler or a class joins by one entry.
import { expect, test } from "bun:test";
import type { FormUrl, ResourceUid } from "../../../../base/ids.ts";
import { type AttachmentForm, Attachments, requireOffered } from "../../../../control/forms/attachments.ts";
import { Refusal, type ResourceRecord } from "../../../../control/forms/form.ts";
import { WORKER_VERSION } from "../../../../control/forms/form-urls.ts";
import { meets, type Need } from "../../../../control/forms/worker-version/offer.ts";
import {
  deploymentSpec,
  newBundle,
  newDeployment,
  newVersion,
  newWorker,
  versionSpec,
} from "../../../support/forms/chain.ts";
import { FormWorld } from "../../../support/forms/form-world.ts";

const counter: Need = {
  kind: "class",
  className: "Counter",
  accepts: (found) => found.methods.includes("fetch"),
};

/** A Form whose every Resource needs a class of the Worker it names, played by records of another one. */
const classes = (form: FormUrl, worker: ResourceUid): AttachmentForm => {
  return { form, label: "a namespace", demands: () => [{ worker, need: counter }] };
};

async function withClasses(
  world: FormWorld,
  worker: ResourceUid,
  methods: readonly string[] | null,
): Promise<ResourceUid> {
  const bundle = await newBundle(world, "classes.js");
  const found = methods === null ? [] : [{ name: "Counter", methods }];
  world.runtime.reports.set("classes.js", { ok: true, handlers: ["fetch"], classes: found });
  return (await world.create(WORKER_VERSION, versionSpec(worker, bundle))).uid;
}

test("WD-21: a handler is a matter of declaration", async () => {
  const world = new FormWorld();
  const worker = await newWorker(world);
  const version = world.record(await newVersion(world, worker, ["queue", "fetch"]));
  expect(meets(version, { kind: "handler", handler: "queue" })).toBe("yes");
  expect(meets(version, { kind: "handler", handler: "scheduled" })).toBe("no");
  expect(meets(version, { kind: "http" })).toBe("yes");
});

test("WD-23, WV-65 … WV-67, MW-24: a class is a matter of what verification found", async () => {
  const world = new FormWorld();
  const worker = await newWorker(world);
  expect(meets(world.record(await withClasses(world, worker, ["fetch"])), counter)).toBe("yes");
  expect(meets(world.record(await withClasses(world, worker, ["alarm"])), counter)).toBe("no");
  expect(meets(world.record(await withClasses(world, worker, null)), counter)).toBe("no");
  const pending = world.acceptCreate(WORKER_VERSION, versionSpec(worker, await newBundle(world)));
  expect(meets(world.record(pending.uid), counter)).toBe("unknown");
  world.runtime.reports.set("main.js", { ok: false, code: "module_syntax_error", message: "x" });
  await world.settle(pending);
  expect(meets(world.record(pending.uid), counter)).toBe("no");
});

test("WD-23, WD-24: a Deployment is held against every attachment, whatever its Operation has come to", async () => {
  const world = new FormWorld();
  const worker = await newWorker(world);
  const [good, bad] = [await withClasses(world, worker, ["fetch"]), await withClasses(world, worker, null)];
  // Versions of the Worker stand in for namespaces: they refer to it like one would.
  const attachments = new Attachments([classes(WORKER_VERSION, worker)]);
  const of = (...uids: ResourceUid[]): ResourceRecord[] => uids.map((uid) => world.record(uid));
  expect(attachments.shortfall(world, worker, of(good))).toBeNull();
  expect(attachments.shortfall(world, worker, of(good, bad))).toMatchObject({ verdict: "no", need: counter });
  const pending = world.acceptCreate(WORKER_VERSION, versionSpec(worker, await newBundle(world)));
  expect(attachments.shortfall(world, worker, of(good, pending.uid))).toMatchObject({ verdict: "unknown" });
  expect(attachments.shortfall(world, worker, of(pending.uid, bad))).toMatchObject({ verdict: "no" });
  expect(new Attachments([]).shortfall(world, worker, of(bad))).toBeNull();
});

test("WD-25: an attachment is refused by what is weighted, busy while there is no verdict, and early without a Deployment", async () => {
  const world = new FormWorld();
  const worker = await newWorker(world);
  const [good, bad] = [await withClasses(world, worker, ["fetch"]), await withClasses(world, worker, null)];
  const refusal = (): string => {
    try {
      requireOffered(world, worker, counter);
    } catch (error) {
      if (error instanceof Refusal) return error.code;
      throw error;
    }
    return "accepted";
  };
  expect(refusal()).toBe("accepted");
  const deployment = await newDeployment(world, worker, { [good]: 10000 });
  expect(refusal()).toBe("accepted");
  const pending = world.acceptCreate(WORKER_VERSION, versionSpec(worker, await newBundle(world)));
  const update = world.acceptUpdate(deployment, deploymentSpec(worker, { [pending.uid]: 10000 }));
  expect(refusal()).toBe("resource_busy");
  await world.settle(pending);
  expect(refusal()).toBe("dependency_conflict");
  await world.settle(update);
  expect(refusal()).toBe("dependency_conflict");
  await world.update(deployment, deploymentSpec(worker, { [good]: 1, [bad]: 9999 }));
  expect(refusal()).toBe("dependency_conflict");
  await world.update(deployment, deploymentSpec(worker, { [good]: 10000 }));
  expect(refusal()).toBe("accepted");
});
