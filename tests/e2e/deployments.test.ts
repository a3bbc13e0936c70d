// Distributions: weights, switches under load, and the end of a Deployment, on a real node.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { WORKER_DEPLOYMENT } from "../../control/forms/form-urls.ts";
import { deploymentSpec } from "../support/forms/chain.ts";
import { eventually, TestNode } from "../support/node-rig.ts";

let node: TestNode;
beforeAll(async () => {
  node = await TestNode.start();
});
afterAll(async () => node[Symbol.asyncDispose]());

const says = (word: string) => `export default { fetch: () => new Response(${JSON.stringify(word)}) };`;

/** Streams its own name, one word for each byte that `/more` asks for; ends at `/end`. */
const streams = (name: string) => `
  const open = new Map();
  export default {
    fetch(request) {
      const url = new URL(request.url);
      const id = url.searchParams.get("id");
      if (url.pathname === "/open") {
        return new Response(new ReadableStream({ start(c) { open.set(id, c); c.enqueue(new TextEncoder().encode("${name}")); } }));
      }
      if (url.pathname === "/fixed") return streamed(request);
      return new Response("${name}");
    },
  };
  /** Answers each chunk of the request with its name and the chunk. */
  function streamed(request) {
    const encoder = new TextEncoder();
    return new Response(request.body.pipeThrough(new TransformStream({
      transform(chunk, c) { c.enqueue(encoder.encode("${name}:")); c.enqueue(chunk); },
    })));
  }`;

describe("selection", () => {
  test("WD-14, WD-15: many requests divide by weight, whatever the order of the array", async () => {
    const worker = await node.worker();
    const [a, b, c] = [
      await node.version(worker, says("a")),
      await node.version(worker, says("b")),
      await node.version(worker, says("c")),
    ];
    await node.deployment(worker, { [c]: 500, [a]: 7_000, [b]: 2_500 });
    const { hostname } = await node.endpoint(worker);
    const counts: Record<string, number> = { a: 0, b: 0, c: 0 };
    const requests = 4_000;
    let left = requests;
    await Promise.all(
      Array.from({ length: 16 }, async () => {
        while (left-- > 0) {
          const answer = await node.text({ hostname });
          counts[answer] = (counts[answer] ?? 0) + 1;
        }
      }),
    );
    expect(Object.keys(counts).sort()).toEqual(["a", "b", "c"]);
    // Six standard deviations: wrong about once in half a billion runs.
    for (const [name, share] of [
      ["a", 0.7],
      ["b", 0.25],
      ["c", 0.05],
    ] as const) {
      const margin = 6 * Math.sqrt(requests * share * (1 - share));
      expect(Math.abs((counts[name] ?? 0) - requests * share)).toBeLessThan(margin);
    }
  });

  test("WD-17, WD-40: a stream that is running stays on its Version through a switch; new requests get the new one", async () => {
    const deployed = await node.deploy(streams("old"));
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    const send = (text: string) => writer.write(Buffer.from(text));
    const responding = node.fetch(deployed, "/fixed", { method: "POST", body: readable });
    void send("1");
    const reader = (await responding).body!.pipeThrough(new TextDecoderStream()).getReader();
    let seen = "";
    const until = async (text: string): Promise<void> => {
      while (!seen.endsWith(text)) seen += (await reader.read()).value ?? "";
    };
    await until("old:1");

    const version = await node.version(deployed.worker, streams("new"));
    await node.switch(deployed, { [version]: 10_000 });
    expect(await node.text(deployed, "/")).toBe("new");
    // The context that is left keeps the old Version from being deleted (WD-42).
    expect(await node.api.verdict(node.api.delete(deployed.version))).toBe("409 dependency_conflict");
    void send("2");
    await until("old:2");
    await writer.close();
    expect((await reader.read()).done).toBe(true);
    expect(seen).toBe("old:1old:2");
    await eventually(
      async () => (await node.api.verdict(node.api.delete(deployed.version))) === "succeeded",
      "the old Version cannot be deleted although its last stream has ended",
    );
  });

  test("WD-38: switches back and forth under load lose no request, and no mixture becomes visible", async () => {
    const deployed = await node.deploy(says("one"));
    const other = await node.version(deployed.worker, says("two"));
    const load = { isOn: true };
    const failures: string[] = [];
    const seen = new Set<string>();
    const clients = Array.from({ length: 8 }, async () => {
      while (load.isOn) {
        const response = await node.fetch(deployed);
        const text = await response.text();
        seen.add(text);
        if (response.status !== 200) failures.push(`${response.status} ${text}`);
      }
    });
    for (let i = 0; i < 6; i++) {
      const target = i % 2 === 0 ? other : deployed.version;
      await node.switch(deployed, { [target]: 10_000 });
      // Once the switch is acknowledged, nothing else is chosen.
      expect(await node.text(deployed)).toBe(i % 2 === 0 ? "two" : "one");
    }
    load.isOn = false;
    await Promise.all(clients);
    expect(failures).toEqual([]);
    expect([...seen].sort()).toEqual(["one", "two"]);
  });

  test("WD-A4: an update that cannot become effective changes nothing", async () => {
    const deployed = await node.deploy(says("still here"));
    const broken = await node.api.settled(
      await node.createVersion(deployed.worker, { files: "export default {};", handlers: ["fetch"] }),
    );
    const spec = deploymentSpec(deployed.worker, { [broken.resourceUid]: 10_000 });
    expect(await node.api.verdict(node.api.update(deployed.deployment, spec))).toBe("409 dependency_conflict");
    expect(await node.text(deployed)).toBe("still here");
    expect((await node.api.resource(deployed.deployment)).observed).toEqual({
      ready: true,
      active: true,
      selectedVersions: [{ resourceUid: deployed.version, weight: 10_000 }],
    });
  });
});

describe("the end of a Deployment", () => {
  test("WD-44, WE-A5: new requests get a 503 of the Host at once, open streams are cut, then the delete succeeds", async () => {
    const deployed = await node.deploy(streams("s"));
    const response = await node.fetch(deployed, "/open?id=1");
    const reader = response.body!.getReader();
    expect(new TextDecoder().decode((await reader.read()).value)).toBe("s");
    const accepted = await node.api.delete(deployed.deployment);
    const ended = await reader.read().then(
      ({ done }) => done,
      () => true,
    );
    expect(ended).toBe(true);
    await node.api.done(accepted);
    const refused = await node.fetch(deployed);
    expect([refused.status, refused.headers.get("content-type")]).toEqual([503, "text/plain;charset=utf-8"]);
    expect(await refused.text()).not.toMatch(/Version|Deployment|n-/);
    await eventually(
      async () => (await node.api.resource(deployed.endpoint)).observed.activeDeploymentRouteReady === false,
      "the endpoint does not say that its route is gone",
    );
    expect((await node.api.resource(deployed.endpoint)).output.hostname).toBe(deployed.hostname);

    // Nothing is left of the old executions, so the Version goes, and a new Deployment brings the address back.
    const next = await node.version(deployed.worker, says("back"));
    expect(await node.api.verdict(node.api.delete(deployed.version))).toBe("succeeded");
    await node.deployment(deployed.worker, { [next]: 10_000 });
    expect(await node.text(deployed)).toBe("back");
  });

  test("WD-45: a handler that ignores its cancellation is stopped with its cell, and the delete succeeds", async () => {
    const deployed = await node.deploy(`
      export default {
        async fetch(request) {
          if (new URL(request.url).pathname === "/ping") return new Response("pong");
          await new Promise((resolve) => { setInterval(() => {}, 1000); });
        },
      };`);
    const hanging = node.fetch(deployed, "/hang").then(
      (response) => response.status,
      () => 0,
    );
    // The handler is running once another request, sent later, has been through the same cell.
    expect(await node.text(deployed, "/ping")).toBe("pong");
    expect(await node.api.verdict(node.api.delete(deployed.deployment))).toBe("succeeded");
    expect([0, 503]).toContain(await hanging);
    expect(await node.api.verdict(node.api.delete(deployed.version))).toBe("succeeded");
  });
});

describe("refusals before acceptance", () => {
  test("WD-5 … WD-7, WD-11, WD-13, WD-37: nothing is changed by them", async () => {
    const { api } = node;
    const one = await node.deploy(says("one"));
    const two = await node.deploy(says("two"));
    const more = await node.version(one.worker, says("more"));
    const good = deploymentSpec(one.worker, { [one.version]: 10_000 });
    const entry = (uid: string, weight: unknown) => ({ workerVersion: { resourceUid: uid }, weight });
    const worker = { resourceUid: one.worker };
    for (const spec of [
      { worker, versions: [] },
      { worker, versions: [entry(one.version, 9_999)] },
      { worker, versions: [entry(one.version, 10_001)] },
      { worker, versions: [entry(one.version, 10_000), entry(more, 0)] },
      { worker, versions: [entry(one.version, 5_000), entry(one.version, 5_000)] },
      { worker, versions: [entry(one.version, 5_000.5), entry(more, 4_999.5)] },
      { worker, versions: [entry(one.version, "10000")] },
      { worker, versions: [entry(one.version, 10_000)], more: 1 },
      { worker, versions: null },
      { worker, versions: [entry(two.version, 10_000)] },
      { worker: { resourceUid: two.worker }, versions: [entry(two.version, 10_000)] },
      { worker, versions: [entry("missing", 10_000)] },
    ]) {
      expect([JSON.stringify(spec), await api.verdict(api.update(one.deployment, spec))]).toEqual([
        JSON.stringify(spec),
        "422 invalid_spec",
      ]);
    }
    expect(await api.verdict(api.create(WORKER_DEPLOYMENT, good))).toBe("409 dependency_conflict");
    expect(await api.resource(one.deployment)).toMatchObject({ generation: 1, phase: "idle", spec: good });
    expect(await node.text(one)).toBe("one");
  });

  test("WD-20, WD-22: a Version without an HTTP answer cannot be weighted under an endpoint or a service Binding", async () => {
    const { api } = node;
    const mute = { files: "export default { scheduled() {} };", handlers: ["scheduled"] } as const;
    const published = await node.deploy(says("published"));
    const muteVersion = await node.version(published.worker, mute);
    for (const weights of [{ [muteVersion]: 10_000 }, { [published.version]: 9_999, [muteVersion]: 1 }]) {
      const update = api.update(published.deployment, deploymentSpec(published.worker, weights));
      expect(await api.verdict(update)).toBe("409 dependency_conflict");
    }
    const target = await node.worker();
    await node.deploy({ files: says("caller"), services: { TARGET: target } });
    const muteTarget = await node.version(target, mute);
    const create = api.create(WORKER_DEPLOYMENT, deploymentSpec(target, { [muteTarget]: 10_000 }));
    expect(await api.verdict(create)).toBe("409 dependency_conflict");
  });
});
