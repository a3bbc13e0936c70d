// What a project adds to a deployment: secrets, service bindings, shares of the traffic, no endpoint; and what diff and
// destroy make of it.
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { HostClient } from "../../../cli/client/host-client.ts";
import { deploy, type Deployed } from "../../../cli/deploy/deploy.ts";
import { destroy, partsOf } from "../../../cli/deploy/destroy.ts";
import type { DeployInput } from "../../../cli/deploy/input.ts";
import { namesOf, versionName } from "../../../cli/deploy/names.ts";
import { type Plan, planOf } from "../../../cli/deploy/plan.ts";
import { buildWorkerFiles, type WorkerFiles } from "../../../cli/deploy/worker-files.ts";
import { CliRig } from "../../support/cli-rig.ts";
import { rejection } from "../../support/rejection.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

async function filesOf(text: string): Promise<WorkerFiles> {
  using directory = temporaryDirectory();
  const entry = join(directory.path, "worker.ts");
  await Bun.write(entry, `export default { fetch(): Response { return new Response(${JSON.stringify(text)}); } };\n`);
  return await buildWorkerFiles(entry);
}

const files = await filesOf("one");

class Author {
  readonly rig = new CliRig("edge");
  client!: HostClient;

  static async arrive(): Promise<Author> {
    const author = new Author();
    author.client = await author.rig.connect();
    return author;
  }

  input(more: Partial<DeployInput> = {}): DeployInput {
    return { name: "shop", space: "default", files, handlers: ["fetch"], vars: {}, ...more };
  }

  deploy(more: Partial<DeployInput> = {}): Promise<Deployed> {
    const parts = { client: this.client, operator: this.rig.operator(this.client), say: () => {} };
    return this.rig.run(deploy(parts, this.input(more)));
  }

  plan(more: Partial<DeployInput> = {}, secretNames = Object.keys(more.secrets ?? {})): Promise<Plan> {
    return this.rig.run(planOf(this.client, this.input(more), secretNames));
  }

  async destroy(name = "shop"): Promise<string[]> {
    const parts = await this.rig.run(partsOf(this.client, "default", name));
    await this.rig.run(destroy(this.client, parts, () => {}));
    return parts.map((part) => part.name.replace(/[0-9a-f]{12}$/, "…"));
  }

  async names(): Promise<string[]> {
    const page = await this.rig.rig.call("GET", "/resources?space=default");
    return (page.body.items as { name: string }[]).map((resource) => resource.name).sort();
  }
}

describe("secrets", () => {
  test("WV-44, WV-50: they go as private inputs; the same values again change nothing, another value is a new Version", async () => {
    const author = await Author.arrive();
    const first = await author.deploy({ secrets: { TOKEN: "correct horse" } });
    expect(first.changed).toBe(true);
    author.rig.sent.length = 0;
    expect(await author.deploy({ secrets: { TOKEN: "correct horse" } })).toEqual({ ...first, changed: false });
    // Only a preview was asked, which leaves nothing behind.
    expect(author.rig.mutations().map((sent) => sent.path.split("/").at(-1))).toEqual(["previews"]);

    const second = await author.deploy({ secrets: { TOKEN: "battery staple" } });
    expect(second).toMatchObject({ changed: true, workerUid: first.workerUid, bundleUid: first.bundleUid });
    expect(second.versionUid).not.toBe(first.versionUid);
    const back = await author.deploy({ secrets: { TOKEN: "correct horse" } });
    expect(back.versionUid).toBe(first.versionUid);
  });

  test("WV-45: the name of a Version comes from its spec and a number, and nothing public has the value", async () => {
    const author = await Author.arrive();
    for (const [revision, value] of ["value-a", "value-b"].entries()) {
      const { versionUid, versionName: name } = await author.deploy({ secrets: { TOKEN: value } });
      const version = await author.rig.run(author.client.resource(versionUid));
      expect(name).toBe(versionName(namesOf("shop"), { ...version?.spec, revision: revision + 1 }));
      expect(JSON.stringify(version)).not.toContain(value);
    }
  });

  test("a create whose answer was lost is found by the next deployment", async () => {
    const author = await Author.arrive();
    await author.deploy({ secrets: { TOKEN: "one" } });
    const lost = author.rig;
    let cut = false;
    lost.network = (sent, pass) => {
      if (cut) return Promise.reject(new Error("the network is down"));
      if (sent.method !== "POST" || !sent.body.includes("requiredSensitiveVars") || sent.path.endsWith("previews")) {
        return undefined;
      }
      cut = true;
      return pass().then(() => Promise.reject(new Error("the network is down")));
    };
    const impatient = await author.rig.connect({ patienceMs: 1_000 });
    const parts = { client: impatient, operator: author.rig.operator(impatient), say: () => {} };
    await rejection(author.rig.run(deploy(parts, author.input({ secrets: { TOKEN: "two" } }))));
    lost.network = () => undefined;
    const before = await author.names();
    await author.deploy({ secrets: { TOKEN: "two" } });
    expect(await author.names()).toEqual(before);
  });
});

describe("service bindings", () => {
  test("WV-7: a Worker is named, and its uid is stored; one that is missing is named with the way out", async () => {
    const author = await Author.arrive();
    expect(await rejection(author.deploy({ services: { STOCK: "stock" } }))).toMatchObject({
      code: "missing_service",
      message: "the service binding STOCK needs the Worker stock",
    });
    const stock = await author.deploy({ name: "stock", endpoint: false });
    expect(stock).toMatchObject({ url: null, hostname: null, endpointUid: null });
    const shop = await author.deploy({ services: { STOCK: "stock" } });
    const version = await author.rig.run(author.client.resource(shop.versionUid));
    expect(version?.spec["serviceBindings"]).toEqual([{ name: "STOCK", resource: { resourceUid: stock.workerUid } }]);
    expect(await author.deploy({ services: { STOCK: "stock" } })).toEqual({ ...shop, changed: false });
  });

  test("an endpoint that a project no longer wants is taken down", async () => {
    const author = await Author.arrive();
    await author.deploy();
    expect(await author.names()).toContain("shop-endpoint");
    expect(await author.deploy({ endpoint: false })).toMatchObject({ changed: true, url: null });
    expect(await author.names()).not.toContain("shop-endpoint");
  });
});

describe("shares of the traffic", () => {
  test("WD-5: a new Version gets its share and the one before keeps the rest, until it gets everything", async () => {
    const author = await Author.arrive();
    const old = await author.deploy({ vars: { A: 1 } });
    const next = await author.deploy({ vars: { A: 2 }, weight: 1_000 });
    expect(next.weights).toEqual({ [next.versionUid]: 1_000, [old.versionUid]: 9_000 });
    expect(author.rig.runtime.weightsOf(next.workerUid as never)).toEqual(next.weights);
    expect(await author.deploy({ vars: { A: 2 }, weight: 1_000 })).toEqual({ ...next, changed: false });
    const more = await author.deploy({ vars: { A: 2 }, weight: 5_000 });
    expect(more.weights).toEqual({ [next.versionUid]: 5_000, [old.versionUid]: 5_000 });
    expect((await author.deploy({ vars: { A: 2 } })).weights).toEqual({ [next.versionUid]: 10_000 });
  });

  test("the first Version gets everything, whatever share it asks for", async () => {
    const author = await Author.arrive();
    const only = await author.deploy({ weight: 1_000 });
    expect(only.weights).toEqual({ [only.versionUid]: 10_000 });
  });
});

describe("diff", () => {
  test("on an empty Host everything is to be made; after a deployment nothing; and looking changes nothing", async () => {
    const author = await Author.arrive();
    const plan = await author.plan({ vars: { A: 1 } });
    expect(plan.changes).toBe(true);
    expect(plan.steps.map(({ action, what }) => `${action} ${what}`)).toEqual([
      "create Worker",
      "create bundle",
      "create version",
      "create deployment",
      "create endpoint",
    ]);
    expect(author.rig.mutations()).toEqual([]);
    await author.deploy({ vars: { A: 1 } });
    expect(await author.plan({ vars: { A: 1 } })).toMatchObject({ changes: false });
  });

  test("a Version is compared field by field with the one in use", async () => {
    const author = await Author.arrive();
    await author.deploy({ name: "stock", endpoint: false });
    const old = await author.deploy({ vars: { A: 1, GONE: "x" } });
    const plan = await author.plan({ vars: { A: 2, NEW: true }, services: { STOCK: "stock" }, weight: 1_000 });
    const version = plan.steps.find((step) => step.what === "version");
    expect(version).toMatchObject({ action: "create", name: null });
    expect(version?.changes).toEqual([
      { field: "services.STOCK", from: null, to: "stock" },
      { field: "vars.A", from: "1", to: "2" },
      { field: "vars.GONE", from: '"x"', to: null },
      { field: "vars.NEW", from: null, to: "true" },
    ]);
    expect(plan.steps.find((step) => step.what === "deployment")?.changes).toEqual([
      { field: "versions", from: `${old.versionName} 100 %`, to: `the new version 10 %, ${old.versionName} 90 %` },
    ]);
  });

  test("WV-45: of a secret it says whether it changed, or that nobody can say, and never a value", async () => {
    const author = await Author.arrive();
    await author.deploy({ secrets: { TOKEN: "old-value" } });
    expect(await author.plan({ secrets: { TOKEN: "old-value" } })).toMatchObject({ changes: false });
    const changed = await author.plan({ secrets: { TOKEN: "new-value" } });
    expect(changed.steps.find((step) => step.what === "version")).toMatchObject({
      action: "create",
      changes: [{ field: "secrets.TOKEN", from: "set", to: "changed" }],
    });
    const unknown = await author.plan({}, ["TOKEN"]);
    expect(unknown.steps.find((step) => step.what === "version")).toMatchObject({ action: "unknown" });
    expect(unknown.steps.find((step) => step.what === "deployment")).toMatchObject({ action: "none" });
    expect(JSON.stringify([changed, unknown])).not.toContain("-value");
  });
});

describe("destroy", () => {
  test("WD-53: entrance, deployment, versions, bundles, Worker, in this order; again there is nothing", async () => {
    const author = await Author.arrive();
    await author.deploy();
    await author.deploy({ vars: { A: 2 }, weight: 1_000 });
    expect(await author.destroy()).toEqual([
      "shop-endpoint",
      "shop-deployment",
      "shop-v-…",
      "shop-v-…",
      "shop-b-…",
      "shop",
    ]);
    expect(await author.names()).toEqual([]);
    expect(await author.destroy()).toEqual([]);
  });

  test("one that was cut off anywhere is finished by the next", async () => {
    for (let deletions = 0; deletions < 5; deletions++) {
      const author = await Author.arrive();
      await author.deploy();
      let left = deletions;
      author.rig.network = (sent) =>
        sent.method === "DELETE" && left-- <= 0 ? Promise.reject(new Error("the network is down")) : undefined;
      author.client = await author.rig.connect({ patienceMs: 1_000 });
      await rejection(author.destroy());
      expect(await author.names()).toHaveLength(5 - deletions);
      author.rig.network = () => undefined;
      await author.destroy();
      expect(await author.names()).toEqual([]);
    }
  });

  test("a Worker that another one is bound to is left as it is", async () => {
    const author = await Author.arrive();
    await author.deploy({ name: "stock" });
    await author.deploy({ services: { STOCK: "stock" } });
    const before = await author.names();
    expect(await rejection(author.destroy("stock"))).toMatchObject({
      code: "dependency_conflict",
      message: expect.stringMatching(/^stock is needed by WorkerVersion shop-v-/),
    });
    expect(await author.names()).toEqual(before);
    await author.destroy("shop");
    await author.destroy("stock");
    expect(await author.names()).toEqual([]);
  });
});
