// What survives the end of the process, however it comes.
import { describe, expect, test } from "bun:test";
import { MODULE_WORKER, WORKER_DEPLOYMENT, WORKER_ENDPOINT, WORKER_VERSION } from "../../control/forms/form-urls.ts";
import { deploymentSpec, endpointSpec, versionSpec } from "../support/forms/chain.ts";
import { type Deployed, eventually, TestNode } from "../support/node-rig.ts";
import { RawConnection, statusOf } from "../support/raw-http.ts";

const says = (word: string): string => `export default { fetch: () => new Response(${JSON.stringify(word)}) };`;
/** Inspecting it takes a while, so that a node can be killed meanwhile. */
const SLOW_TO_LOAD = `await new Promise((resolve) => setTimeout(resolve, 500)); ${says("loaded at last")}`;

describe("kill -9 and the same idempotency key", () => {
  test("HA-186, HA-118, HA-121: right after acceptance, during execution and after success it is the same Operation", async () => {
    await using node = await TestNode.start();
    const worker = await node.worker();
    const bundle = await node.bundle(SLOW_TO_LOAD);
    const key = crypto.randomUUID();
    const name = "slow-version";
    const create = () => node.api.create(WORKER_VERSION, versionSpec(worker, bundle), { key, name });

    const accepted = await create();
    expect(accepted.status).toBe(202);
    await node.kill9();
    await node.restart();

    const again = await create();
    expect([again.status, again.body.id, again.body.resourceUid]).toEqual([
      202,
      accepted.body.id,
      accepted.body.resourceUid,
    ]);
    await eventually(async () => (await node.api.operation(again.body.id)).status !== "queued", "it never runs");
    await node.kill9();
    await node.restart();

    expect(await node.api.done(create())).toBe(accepted.body.resourceUid);
    await node.kill9();
    await node.restart();

    const late = await create();
    expect([late.status, late.body.id, late.body.status, late.body.effect]).toEqual([
      200,
      accepted.body.id,
      "succeeded",
      "complete",
    ]);
    expect((await node.api.call("GET", "/resources?name=slow-version")).body.items).toHaveLength(1);
    expect(await node.api.resource(accepted.body.resourceUid)).toMatchObject({ generation: 1, phase: "idle" });
  });

  test("HA-150, HA-121: a client that repeats itself through kills at any moment ends with exactly what it asked for", async () => {
    await using node = await TestNode.start();
    let kills = 0;
    const chain = { isOver: false };
    const killing = (async () => {
      // Different moments each time; the sum of them covers the whole chain.
      for (const afterMs of [20, 55, 90, 140, 210]) {
        await Bun.sleep(afterMs);
        if (chain.isOver) return;
        await node.kill9();
        kills += 1;
        await node.restart();
      }
    })();
    /** Repeat until the node has answered, as HA-127 tells a client to. */
    const stubborn = async <T>(work: () => Promise<T>): Promise<T> => {
      for (let tries = 0; ; tries++) {
        try {
          return await work();
        } catch (error) {
          if (tries > 1_000) throw error;
          await Bun.sleep(5);
        }
      }
    };
    const made = async (form: Parameters<typeof node.api.create>[0], name: string, spec: unknown) => {
      const key = `stubborn-client-${name}`;
      return await stubborn(() => node.api.done(node.api.create(form, spec, { key, name })));
    };
    const worker = await made(MODULE_WORKER, "worker", {});
    const bundle = await stubborn(() => node.bundle(says("through it all")));
    const version = await made(WORKER_VERSION, "version", versionSpec(worker, bundle));
    await made(WORKER_DEPLOYMENT, "deployment", deploymentSpec(worker, { [version]: 10_000 }));
    const endpoint = await made(WORKER_ENDPOINT, "endpoint", endpointSpec(worker));
    chain.isOver = true;
    await killing;
    expect(kills).toBeGreaterThan(1);
    const { hostname } = (await node.api.resource(endpoint)).output;
    expect(await node.text({ hostname })).toBe("through it all");
    for (const name of ["worker", "version", "deployment", "endpoint"]) {
      const { items } = (await node.api.call("GET", `/resources?name=${name}`)).body;
      expect([name, items.length, items[0].generation]).toEqual([name, 1, 1]);
    }
  });
});

describe("restart", () => {
  test("200 Workers answer after kill -9 without being deployed again; the admin token stays", async () => {
    await using node = await TestNode.start();
    const { api } = node;
    const bundle = await node.bundle(`export default { fetch: (request, env) => new Response("worker " + env.N) };`);
    const deployed: { readonly hostname: string; readonly n: number }[] = [];
    let next = 0;
    const deployer = async (): Promise<void> => {
      while (next < 200) {
        const n = next++;
        const worker = await node.worker();
        const version = await api.done(api.create(WORKER_VERSION, versionSpec(worker, bundle, { vars: { N: n } })));
        await node.deployment(worker, { [version]: 10_000 });
        deployed.push({ n, hostname: (await node.endpoint(worker)).hostname });
      }
    };
    await Promise.all(Array.from({ length: 8 }, deployer));
    const token = await Bun.file(node.ready.adminTokenFile).text();
    await node.kill9();
    await node.restart();
    expect(await Bun.file(node.ready.adminTokenFile).text()).toBe(token);
    expect(deployed).toHaveLength(200);
    // Each of those asked gets its first cell since the restart, all at the same time.
    const asked = deployed.filter(({ n }) => n % 10 === 0);
    const answers = await Promise.all(asked.map(async (it) => [it.n, await node.text(it)]));
    expect(answers).toEqual(asked.map(({ n }) => [n, `worker ${n}`]));
  }, 60_000);

  test("WD-43: a Deployment that was closed stays closed, a switched one stays switched", async () => {
    await using node = await TestNode.start();
    const [closed, switched] = [await node.deploy(says("closed")), await node.deploy(says("before"))];
    await node.api.done(node.api.delete(closed.deployment));
    const after = await node.version(switched.worker, says("after"));
    await node.switch(switched, { [after]: 10_000 });
    await node.kill9();
    await node.restart();
    expect((await node.fetch(closed)).status).toBe(503);
    expect(await node.text(switched)).toBe("after");
  });
});

describe("signals", () => {
  /** Answers when it is told to, or after a while. */
  const HELD = `
    let release = () => {};
    export default {
      fetch(request) {
        const { pathname } = new URL(request.url);
        if (pathname === "/held") return new Promise((resolve) => { release = () => resolve(new Response("finished")); setTimeout(release, 400); });
        if (pathname === "/stream") {
          let left = 8;
          return new Response(new ReadableStream({
            async pull(c) {
              await new Promise((resolve) => setTimeout(resolve, 50));
              if (left-- > 0) c.enqueue(new TextEncoder().encode("part ")); else c.close();
            },
          }));
        }
        if (pathname === "/never") return new Promise(() => {});
        return new Response("ok");
      },
    };`;

  async function running(node: TestNode, worker: Deployed, path: string): Promise<RawConnection> {
    const connection = await RawConnection.open(node.ready.http);
    connection.send(`GET ${path} HTTP/1.1\r\nHost: ${worker.hostname}\r\nConnection: close\r\n\r\n`);
    // It is with the Worker once something sent later has been answered.
    expect(await node.text(worker, "/")).toBe("ok");
    return connection;
  }

  test("SIGTERM: what is running finishes, nothing new is taken, and the exit code is 0", async () => {
    await using node = await TestNode.start();
    const worker = await node.deploy(HELD);
    using held = await running(node, worker, "/held");
    using stream = await running(node, worker, "/stream");
    node.signal("SIGTERM");
    await node.logged('"stopping"');
    const late = await node.fetch(worker, "/").then(
      () => "taken",
      () => "refused",
    );
    expect(late).toBe("refused");
    const [answer, streamed] = await Promise.all([held.untilClosed(), stream.untilClosed()]);
    expect([statusOf(answer), answer.endsWith("finished")]).toEqual([200, true]);
    expect(streamed.match(/part /g)).toHaveLength(8);
    expect(streamed).toEndWith("0\r\n\r\n");
    expect(await node.exited).toBe(0);
    await node.restart();
    expect(await node.text(worker, "/")).toBe("ok");
  });

  test("a second SIGTERM ends the process at once; nothing accepted is lost by it", async () => {
    await using node = await TestNode.start();
    const worker = await node.deploy(HELD);
    using never = await running(node, worker, "/never");
    node.signal("SIGTERM");
    await node.logged('"stopping"');
    node.signal("SIGTERM");
    expect(await node.exited).not.toBe(0);
    expect(await never.untilClosed()).not.toContain("200 OK");
    await node.restart();
    expect(await node.text(worker, "/")).toBe("ok");
  });

  test("what does not finish in time is cut after drainSeconds, and the exit code is 0", async () => {
    await using node = await TestNode.start({ config: { drainSeconds: 1 } });
    const worker = await node.deploy(HELD);
    using never = await running(node, worker, "/never");
    node.signal("SIGTERM");
    expect(await node.exited).toBe(0);
    expect(await never.untilClosed()).not.toContain("200 OK");
  });
});

test("a second process on the same data directory is refused while the first one lives, and welcome afterwards", async () => {
  await using node = await TestNode.start();
  const worker = await node.deploy(says("first"));
  const second = node.spawn();
  const [code, stdout, stderr] = await Promise.all([
    second.exited,
    new Response(second.stdout).text(),
    new Response(second.stderr).text(),
  ]);
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toContain("another process is using this data directory");
  expect(await node.text(worker)).toBe("first");
  await node.kill9();
  await node.restart();
  expect(await node.text(worker)).toBe("first");
});
