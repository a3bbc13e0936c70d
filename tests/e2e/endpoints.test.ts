// The address of a Worker: assigned once, reached over TLS, kept across every end of the process.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect } from "node:tls";
import { join } from "node:path";
import { MODULE_WORKER, WORKER_ENDPOINT } from "../../control/forms/form-urls.ts";
import { endpointSpec } from "../support/forms/chain.ts";
import { type Deployed, TestNode } from "../support/node-rig.ts";

let node: TestNode;
let worker: Deployed;
beforeAll(async () => {
  node = await TestNode.start();
  worker = await node.deploy("export default { fetch: (request) => new Response(request.url) };");
});
afterAll(async () => node[Symbol.asyncDispose]());

/** One request over TLS as a client on the Internet makes it, only that the address is known already. */
async function overTls(hostname: string, path: string, host = hostname): Promise<string> {
  const ca = await Bun.file(join(node.data, "tls/ca.pem")).text();
  const port = Number(new URL(node.ready.https).port);
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect({ host: "127.0.0.1", port, servername: hostname, ca, rejectUnauthorized: true });
  let text = "";
  socket.on("secureConnect", () => socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`));
  socket.on("data", (chunk: Buffer) => {
    text += chunk.toString("latin1");
  });
  socket.on("error", reject);
  socket.on("close", () => resolve(text));
  return await promise;
}

describe("address", () => {
  test("WE-9 … WE-12: the output has a legal host name and its https URL", async () => {
    const { output, observed } = await node.api.resource(worker.endpoint);
    expect(output).toEqual({ hostname: worker.hostname, url: `https://${worker.hostname}/` });
    expect(worker.hostname.length).toBeLessThanOrEqual(253);
    for (const label of worker.hostname.split(".")) expect(label).toMatch(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/);
    expect(observed).toEqual({ tlsReady: true, activeDeploymentRouteReady: true });
  });

  test("WE-9: the address is in the first answer about the Resource", async () => {
    const other = await node.worker();
    const version = await node.version(other, "export default { fetch: () => new Response() };");
    await node.deployment(other, { [version]: 10_000 });
    const accepted = await node.api.create(WORKER_ENDPOINT, endpointSpec(other));
    const first = await node.api.resource(accepted.body.resourceUid);
    expect(first.output.url).toBe(`https://${first.output.hostname}/`);
    await node.api.done(accepted);
    expect((await node.api.resource(accepted.body.resourceUid)).output).toEqual(first.output);
  });

  test("WE-12, WE-17: a client that trusts the node's authority reaches the Worker by name over TLS", async () => {
    const answer = await overTls(worker.hostname, "/a?b=c");
    expect(answer).toStartWith("HTTP/1.1 200");
    expect(answer).toEndWith(`https://${worker.hostname}/a?b=c`);
    const upper = await overTls(worker.hostname, "/", `${worker.hostname.toUpperCase()}:443`);
    expect(upper).toStartWith("HTTP/1.1 200");
    // Without the authority nobody is fooled.
    const stranger = await fetch(`${node.ready.https}/`, { headers: { host: worker.hostname } }).then(
      () => "accepted",
      () => "refused",
    );
    expect(stranger).toBe("refused");
  });

  test("names below the endpoint domain that are nobody's get a 404 of the Host, which is no API answer", async () => {
    const domain = worker.hostname.slice(worker.hostname.indexOf(".") + 1);
    for (const hostname of [`nobody.${domain}`, `x.${worker.hostname}`, `.${domain}`]) {
      const response = await node.fetch({ hostname }, "/.well-known/takoform/v2");
      expect([hostname, response.status, response.headers.get("content-type")]).toEqual([
        hostname,
        404,
        "text/plain;charset=utf-8",
      ]);
    }
    expect(await overTls(`nobody.${domain}`, "/")).toStartWith("HTTP/1.1 404");
    expect((await node.fetch({ hostname: "localhost" }, "/.well-known/takoform/v2")).status).toBe(200);
  });
});

describe("attachment", () => {
  test("WE-24, WE-A2, WE-A1: one endpoint a Worker; none without a Deployment; the Worker cannot be exchanged", async () => {
    const { api } = node;
    expect(await api.verdict(api.create(WORKER_ENDPOINT, endpointSpec(worker.worker)))).toBe("409 dependency_conflict");
    const lonely = await node.worker();
    expect(await api.verdict(api.create(WORKER_ENDPOINT, endpointSpec(lonely)))).toBe("409 dependency_conflict");
    expect(await api.verdict(api.update(worker.endpoint, endpointSpec(lonely)))).toBe("422 invalid_spec");
    expect(await node.text(worker, "/still")).toBe(`https://${worker.hostname}/still`);
  });

  test("WE-27, WE-28, WE-A6: an update keeps the address; a delete removes the route alone; the name is not handed out again", async () => {
    const { api } = node;
    const deployed = await node.deploy("export default { fetch: () => new Response('here') };");
    expect(await api.verdict(api.update(deployed.endpoint, endpointSpec(deployed.worker)))).toBe("succeeded");
    expect((await api.resource(deployed.endpoint)).output.hostname).toBe(deployed.hostname);
    expect(await api.verdict(api.delete(deployed.endpoint))).toBe("succeeded");
    expect((await node.fetch(deployed)).status).toBe(404);
    expect((await api.resource(deployed.deployment)).observed).toMatchObject({ ready: true, active: true });
    const again = await node.endpoint(deployed.worker);
    expect(again.hostname).not.toBe(deployed.hostname);
    expect(await node.text(again)).toBe("here");
    expect((await node.fetch(deployed)).status).toBe(404);
  });

  test("WE-29: a Worker with an endpoint cannot be deleted", async () => {
    expect(await node.api.verdict(node.api.delete(worker.worker))).toBe("409 dependency_conflict");
  });
});

test("WE-14, WE-31: after SIGTERM and after kill -9 the address, its certificate and its route are the same", async () => {
  const before = await node.api.resource(worker.endpoint);
  const ca = await Bun.file(join(node.data, "tls/ca.pem")).text();
  node.signal("SIGTERM");
  expect(await node.exited).toBe(0);
  await node.restart();
  expect(await overTls(worker.hostname, "/1")).toEndWith(`https://${worker.hostname}/1`);
  await node.kill9();
  await node.restart();
  expect(await overTls(worker.hostname, "/2")).toEndWith(`https://${worker.hostname}/2`);
  expect(await Bun.file(join(node.data, "tls/ca.pem")).text()).toBe(ca);
  expect((await node.api.resource(worker.endpoint)).output).toEqual(before.output);
});

test("the name of a Worker never makes an illegal or a foreign label", async () => {
  for (const name of ["A".repeat(128), "x..y", "0", "a_b-", "xn--p1ai"]) {
    const uid = await node.api.done(node.api.create(MODULE_WORKER, {}, { name }));
    const version = await node.version(uid, "export default { fetch: () => new Response('named') };");
    await node.deployment(uid, { [version]: 10_000 });
    const { hostname } = await node.endpoint(uid);
    for (const label of hostname.split(".")) expect(label).toMatch(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/);
    expect(await node.text({ hostname })).toBe("named");
  }
});
