// Time that a test moves, on a node in a process of its own: what takes a quarter of an hour or a day, proved in moments.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { startAtoll, type TestAtoll } from "@atoll/testing";
import { STANDARD_ROOT } from "../../api/host/host-config.ts";
import { MODULE_WORKER } from "../../control/forms/form-urls.ts";
import { atoll as command, NodeProcess } from "../support/node-process.ts";
import { NodeApi } from "../support/node-api.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const BASE_URL = `https://host.example${STANDARD_ROOT}`;
const directory = temporaryDirectory();
let atoll: TestAtoll;
let api: NodeApi;

beforeAll(async () => {
  atoll = await startAtoll({ clock: "virtual", data: directory.path });
  const token = (await Bun.file(join(directory.path, "admin-token")).text()).trim();
  api = new NodeApi(atoll.origin, BASE_URL, token);
});
afterAll(async () => {
  await atoll.stop();
  directory[Symbol.dispose]();
});

/** Answers with its text, and keeps `/open` open after the first byte. */
const holdsOpen = (text: string): string => `export default {
  fetch(request) {
    if (new URL(request.url).pathname !== "/open") return new Response("${text}");
    return new Response(new ReadableStream({ start: (it) => it.enqueue(new TextEncoder().encode("${text}")) }));
  },
};`;

describe("the node's time", () => {
  test("WD-41, WD-42: contexts of a dropped Version go on for 15 minutes, keep it, and are then cut", async () => {
    const first = await atoll.deploy({ name: "held", source: holdsOpen("old") });
    const stream = (await first.fetch("/open")).body?.getReader();
    expect(new TextDecoder().decode((await stream?.read())?.value)).toBe("old");
    const second = await atoll.deploy({ name: "held", source: holdsOpen("new") });
    expect(await (await second.fetch()).text()).toBe("new");

    let cut = false;
    const ended = stream?.read().then(
      () => {
        cut = true;
      },
      () => {
        cut = true;
      },
    );
    await atoll.advance("14m59s");
    // A round trip through the node, so that an end that was on its way would have arrived.
    expect(await (await second.fetch()).text()).toBe("new");
    expect(cut).toBe(false);
    expect(await api.verdict(api.delete(first.versionUid))).toBe("409 dependency_conflict");

    await atoll.advance("1s");
    await ended;
    expect(cut).toBe(true);
    expect(await api.verdict(api.delete(first.versionUid))).toBe("succeeded");
  });

  test("HA-123: an Operation is kept for its replay window, to the last minute, and then forgotten", async () => {
    const created = await api.create(MODULE_WORKER, {}, { name: "kept" });
    const operation = await api.settled(created);
    expect(Date.parse(operation.retainUntil)).toBeGreaterThanOrEqual(atoll.now().getTime() + 24 * 3_600_000);
    await atoll.advance("23h59m");
    expect((await api.call("GET", `/operations/${operation.id}`)).status).toBe(200);
    await atoll.advance("5m");
    expect((await api.call("GET", `/operations/${operation.id}`)).status).toBe(404);
    expect((await api.resource(operation.resourceUid)).name).toBe("kept");
  });
});

describe("the clock's routes", () => {
  const advance = (body: unknown) =>
    api.call("POST", "/operator/v1/test-clock/advance", { body: JSON.stringify(body) });

  test("they take milliseconds or a duration, and nothing else", async () => {
    const { body } = await api.call("GET", "/operator/v1/test-clock");
    expect(body).toEqual({ now: new Date(body.nowMs).toISOString(), nowMs: atoll.now().getTime() });
    expect((await advance({ duration: "1.5s" })).body.nowMs).toBe(body.nowMs + 1_500);
    expect((await advance({ ms: 500 })).body.nowMs).toBe(body.nowMs + 2_000);
    for (const bad of [{}, { ms: -1 }, { ms: 0.5 }, { ms: 1, duration: "1s" }, { duration: "soon" }, { ms: 4e10 }]) {
      expect([bad, (await advance(bad)).body.code]).toEqual([bad, "invalid_request"]);
    }
    expect((await api.call("GET", "/operator/v1/test-clock")).body.nowMs).toBe(body.nowMs + 2_000);
    expect((await api.call("DELETE", "/operator/v1/test-clock")).status).toBe(405);
  });

  test("a node without the flag has none of them", async () => {
    using plain = temporaryDirectory();
    await using node = await NodeProcess.start(plain.path);
    const token = (await Bun.file(node.ready.adminTokenFile).text()).trim();
    const there = new NodeApi(node.ready.http, node.ready.baseUrl, token);
    for (const [method, path] of [
      ["GET", "/test-clock"],
      ["POST", "/test-clock/advance"],
      ["POST", "/evictions"],
    ] as const) {
      const answer = await there.call(method, `/operator/v1${path}`);
      expect([path, answer.status, answer.body.code]).toEqual([path, 404, "not_found"]);
    }
    expect((await command(["serve", "--help"])).stdout).toContain("--test-clock");
  });
});
