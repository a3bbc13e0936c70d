import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { HandlerName } from "../../../runtime/workers/worker-runtime.ts";
import type { ApiError } from "../../../cli/client/api-error.ts";
import { deploy, type Deployed } from "../../../cli/deploy/deploy.ts";
import { buildWorkerFiles, type WorkerFiles } from "../../../cli/deploy/worker-files.ts";
import { CliRig, type Network } from "../../support/cli-rig.ts";
import { rejection } from "../../support/rejection.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

/** The files of a Worker whose answer is `text`. */
async function filesOf(text: string): Promise<WorkerFiles> {
  using directory = temporaryDirectory();
  const entry = join(directory.path, "worker.ts");
  await Bun.write(entry, `export default { fetch(): Response { return new Response(${JSON.stringify(text)}); } };\n`);
  return await buildWorkerFiles(entry);
}

interface Options {
  readonly name?: string;
  readonly space?: string;
  readonly handlers?: readonly HandlerName[];
  readonly vars?: Record<string, string>;
}

async function deployed(rig: CliRig, files: WorkerFiles, options: Options = {}): Promise<Deployed> {
  const client = await rig.connect();
  const { name = "hello", space = "default", handlers = ["fetch"], vars = {} } = options;
  const parts = { client, operator: rig.operator(client), say: () => {} };
  return await rig.run(deploy(parts, { name, space, files, handlers, vars }));
}

async function namesIn(rig: CliRig, space = "default"): Promise<string[]> {
  const page = await rig.rig.call("GET", `/resources?space=${space}`);
  return (page.body.items as { name: string }[]).map((resource) => resource.name).sort();
}

/** Names without the digests, which differ with the uids of each rig. */
async function kindsIn(rig: CliRig): Promise<string[]> {
  return (await namesIn(rig)).map((name) => name.replace(/[0-9a-f]{12}$/, "…"));
}

describe("deploy", () => {
  test("makes the whole chain, and the Worker is routed", async () => {
    const rig = new CliRig("edge");
    const result = await deployed(rig, await filesOf("one"));
    expect(result).toMatchObject({ name: "hello", space: "default", changed: true });
    expect(result.url).toBe(`https://${result.hostname}/`);
    expect(result.hostname).toEndWith(".atoll.localhost");
    expect([...rig.runtime.hostnames]).toEqual([[result.hostname, result.workerUid]] as never);
    expect(rig.runtime.weightsOf(result.workerUid as never)).toEqual({ [result.versionUid]: 10_000 });
    const names = await namesIn(rig);
    expect(names).toHaveLength(5);
    for (const pattern of [
      /^hello$/,
      /^hello-b-[0-9a-f]{12}$/,
      /^hello-v-[0-9a-f]{12}$/,
      /^hello-deployment$/,
      /^hello-endpoint$/,
    ]) {
      expect(names.filter((name) => pattern.test(name))).toHaveLength(1);
    }
  });

  test("the same bytes again make no Operation and send no file", async () => {
    const rig = new CliRig("edge");
    const files = await filesOf("one");
    const first = await deployed(rig, files);
    rig.sent.length = 0;
    expect(await deployed(rig, files)).toEqual({ ...first, changed: false });
    expect(rig.sent.filter((sent) => sent.method !== "GET")).toEqual([]);
  });

  test("other bytes make a new version at the same address, and go back to the old one when the bytes do", async () => {
    const rig = new CliRig("edge");
    const [one, two] = [await filesOf("one"), await filesOf("two")];
    const first = await deployed(rig, one);
    const second = await deployed(rig, two);
    expect(second.changed).toBe(true);
    expect(second.versionUid).not.toBe(first.versionUid);
    expect([second.workerUid, second.url, second.deploymentUid]).toEqual([
      first.workerUid,
      first.url,
      first.deploymentUid,
    ]);
    expect(rig.runtime.weightsOf(first.workerUid as never)).toEqual({ [second.versionUid]: 10_000 });
    rig.sent.length = 0;
    const back = await deployed(rig, one);
    expect(back.versionUid).toBe(first.versionUid);
    expect(rig.mutations().map((sent) => sent.method)).toEqual(["PUT"]); // the Deployment alone
  });

  test("a variable is part of the version; the order of variables is not", async () => {
    const rig = new CliRig("edge");
    const files = await filesOf("one");
    const plain = await deployed(rig, files);
    const greeting = await deployed(rig, files, { vars: { A: "1", B: "2" } });
    expect(greeting.versionUid).not.toBe(plain.versionUid);
    expect(greeting.bundleUid).toBe(plain.bundleUid);
    const resource = await rig.rig.resource(greeting.versionUid);
    expect(resource.spec.vars).toEqual({ A: "1", B: "2" });
    expect((await deployed(rig, files, { vars: { B: "2", A: "1" } })).changed).toBe(false);
  });

  test("cut off after any request, the next deployment finishes it, and nothing is made twice", async () => {
    const files = await filesOf("one");
    const whole = new CliRig("edge");
    await deployed(whole, files);
    const requests = whole.sent.length;
    for (let last = 1; last < requests; last++) {
      const rig = new CliRig("edge");
      let count = 0;
      // The node gets the request, and the client dies before the answer.
      const dying: Network = (_sent, pass) => {
        if (++count < last) return undefined;
        return count === last ? pass().then(() => new Promise(() => {})) : new Promise(() => {});
      };
      rig.network = dying;
      const client = rig.connect().catch(() => null);
      const parts = client.then((open) =>
        open === null ? null : { client: open, operator: rig.operator(open), say: () => {} },
      );
      void parts.then((open) =>
        open === null
          ? null
          : deploy(open, { name: "hello", space: "default", files, handlers: ["fetch"], vars: {} }).catch(() => {}),
      );
      await rig.until(() => count >= last);
      rig.network = () => undefined;
      await deployed(rig, files);
      expect(await kindsIn(rig)).toEqual(await kindsIn(whole));
    }
  }, 60_000);

  test("a version whose handlers do not fit fails with the Host's own words, and a corrected deployment works", async () => {
    const rig = new CliRig("edge");
    rig.runtime.reports.set("worker.js", { ok: true, handlers: ["fetch", "scheduled"], classes: [] });
    const files = await filesOf("one");
    const error = (await rejection(deployed(rig, files))) as ApiError;
    expect(error.code).toBe("handler_mismatch");
    expect(error.message).toContain("fetch, scheduled");
    expect(await deployed(rig, files, { handlers: ["scheduled", "fetch"] })).toMatchObject({ changed: true });
  });

  test("a failed version is tried again by the next deployment of the same bytes", async () => {
    const rig = new CliRig("edge");
    const files = await filesOf("one");
    rig.runtime.reports.set("worker.js", { ok: false, code: "module_evaluation_failed", message: "it threw" });
    expect(((await rejection(deployed(rig, files))) as ApiError).code).toBe("module_evaluation_failed");
    rig.runtime.reports.delete("worker.js");
    expect(await deployed(rig, files)).toMatchObject({ changed: true });
  });

  test("bytes that were uploaded for another Space are sent again for this one", async () => {
    const rig = new CliRig("edge");
    const files = await filesOf("one");
    rig.rig.principals.createSpace("team");
    await deployed(rig, files);
    const other = await deployed(rig, files, { space: "team" });
    expect(other.changed).toBe(true);
    expect((await namesIn(rig, "team")).length).toBe(5);
  });

  test("a name that belongs to something else is refused and nothing is changed", async () => {
    const rig = new CliRig("edge");
    await rig.rig.settled(
      rig.rig.create({
        form: "https://edge.forms.takoform.com/forms/ModuleWorker/0.3.0/",
        name: "hello-endpoint",
        spec: {},
      }),
    );
    const error = (await rejection(deployed(rig, await filesOf("one")))) as ApiError;
    expect(error.code).toBe("name_conflict");
    expect(error.hint).toContain("--name");
  });

  test("two deployments of the same thing at the same time end in one chain", async () => {
    const rig = new CliRig("edge");
    const files = await filesOf("one");
    const client = await rig.connect();
    const parts = { client, operator: rig.operator(client), say: () => {} };
    const input = { name: "hello", space: "default", files, handlers: ["fetch"] as const, vars: {} };
    const [a, b] = await rig.run(Promise.all([deploy(parts, input), deploy(parts, input)]));
    expect({ ...a, changed: true }).toEqual({ ...b, changed: true });
    expect(await namesIn(rig)).toHaveLength(5);
  });

  test("old versions and bundles beyond the last five go; those of other Workers and those in use stay", async () => {
    const rig = new CliRig("edge");
    await deployed(rig, await filesOf("other"), { name: "hello-b" });
    for (let i = 0; i < 9; i++) {
      await deployed(rig, await filesOf(`answer ${i}`));
      await rig.clock.advance(1_000);
    }
    const names = await namesIn(rig);
    expect(names.filter((name) => name.startsWith("hello-v-"))).toHaveLength(6);
    expect(names.filter((name) => /^hello-b-[0-9a-f]{12}$/.test(name))).toHaveLength(6);
    expect(names.filter((name) => name.startsWith("hello-b-v-"))).toHaveLength(1);
    // The latest one before the current is still there to go back to.
    rig.sent.length = 0;
    await deployed(rig, await filesOf("answer 7"));
    expect(rig.mutations()[0]?.method).toBe("PUT");
  });

  test("what cannot be removed now does not fail the deployment", async () => {
    const rig = new CliRig("edge");
    const versions: string[] = [];
    for (let i = 0; i < 7; i++) {
      const { versionUid } = await deployed(rig, await filesOf(`answer ${i}`));
      versions.push(versionUid);
      // Every version keeps an invocation that does not end, so none can be deleted.
      rig.runtime.contexts.set(versionUid as never, 1);
      await rig.clock.advance(1_000);
    }
    for (const uid of versions) expect((await rig.rig.resource(uid)).phase).toBe("idle");
  });
});
