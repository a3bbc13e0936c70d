import { describe, expect, test } from "bun:test";
import { isPlainHttpsUrl } from "../../../base/ids.ts";
import { rootPathOf } from "../../../api/host/host-config.ts";
import { BASE_URL, ControlRig, hostConfig } from "../../support/control-rig.ts";
import { KEY_VALUE_ENTRY } from "../../support/publisher/key-value-entry.ts";

const DISCOVERY = "//.well-known/takoform/v2";

describe("discovery", () => {
  test("HA-1, HA-35: it answers without authentication and has exactly the mandatory fields", async () => {
    const rig = new ControlRig();
    const answer = await rig.call("GET", DISCOVERY, { token: null });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(answer.body).toEqual({
      api: "forms.takoform.com/v2",
      baseUrl: BASE_URL,
      documentation: expect.any(String),
      authentication: { schemes: ["Bearer"], documentation: expect.any(String) },
      capabilities: { offerings: false, previews: true, privateInputs: true },
      limits: { maxRequestBytes: expect.any(Number), maxPageSize: expect.any(Number), replayWindowSeconds: 86400 },
    });
  });

  test("HA-35: a token, good or bad, changes nothing, and no names of Spaces or Resources leak", async () => {
    const rig = new ControlRig();
    await rig.settled(rig.create({ form: KEY_VALUE_ENTRY, name: "hidden", spec: { key: "k", value: "v" } }));
    const texts = await Promise.all(
      [null, rig.admin, "atoll_bad"].map(async (token) => (await rig.call("GET", DISCOVERY, { token })).text),
    );
    expect(new Set(texts).size).toBe(1);
    expect(texts[0]).not.toMatch(/hidden|default|admin/);
  });

  test("HA-1: it stands at the root of the origin and not under the API root", async () => {
    const rig = new ControlRig();
    expect((await rig.call("GET", "/.well-known/takoform/v2")).status).toBe(404);
    const wrong = await rig.call("POST", DISCOVERY, { token: null });
    expect(wrong.status).toBe(405);
    expect(wrong.headers.get("allow")).toBe("GET, HEAD");
  });

  test("HA-36: a base URL is an https URL without userinfo, query, fragment or trailing slash", () => {
    for (const baseUrl of ["https://h.example", "https://h.example/custom/api", BASE_URL]) {
      expect(() => rootPathOf(hostConfig({ baseUrl }))).not.toThrow();
    }
    for (const baseUrl of [
      "https://h.example/api/",
      "https://h.example/",
      "https://h.example/api?x=1",
      "https://h.example/api#v2",
      "https://u@h.example/api",
      "http://h.example/api",
      "h.example/api",
    ]) {
      expect(() => rootPathOf(hostConfig({ baseUrl }))).toThrow();
    }
  });

  test("HA-13, HA-37: routes are the base URL plus a suffix, also for another path or the bare origin", async () => {
    for (const baseUrl of ["https://host.example", "https://host.example/custom/api"]) {
      const rig = new ControlRig({ host: { baseUrl } });
      const path = new URL(`${baseUrl}/support`).pathname;
      const answer = await rig.call("GET", `/${path}?form=${encodeURIComponent(KEY_VALUE_ENTRY)}`);
      expect(answer.status).toBe(200);
      const created = await rig.call("POST", `/${new URL(`${baseUrl}/resources`).pathname}`, {
        headers: { "idempotency-key": rig.key() },
        json: { form: KEY_VALUE_ENTRY, space: "default", name: "a", spec: { key: "k", value: "v" } },
      });
      expect(created.headers.get("location")).toBe(`${baseUrl}/operations/${created.body.id}`);
      expect((await rig.call("GET", "/support")).status).toBe(404);
    }
  });

  test("HA-39: both documentation pages exist, and the one on authentication explains what it must", async () => {
    const rig = new ControlRig();
    const { body } = await rig.call("GET", DISCOVERY, { token: null });
    for (const url of [body.documentation, body.authentication.documentation]) {
      expect(isPlainHttpsUrl(url)).toBe(true);
      const page = await rig.call("GET", `/${new URL(url).pathname}`, { token: null });
      expect(page.status).toBe(200);
    }
    const page = await rig.call("GET", `/${new URL(body.authentication.documentation).pathname}`, { token: null });
    for (const topic of [/boundary/i, /rotation/i, /revoked/i, /replacement/i, /principal stays the same/i]) {
      expect(page.text).toMatch(topic);
    }
  });

  test("HA-40, HA-41, HA-42: one scheme, and limits that are positive integers", async () => {
    const rig = new ControlRig({ host: { maxPageSize: 3, maxRequestBytes: 4096 } });
    const { authentication, limits } = (await rig.call("GET", DISCOVERY, { token: null })).body;
    expect(authentication.schemes).toEqual(["Bearer"]);
    expect(limits).toMatchObject({ maxPageSize: 3, maxRequestBytes: 4096 });
    for (const limit of Object.values(limits)) expect(Number.isSafeInteger(limit) && (limit as number) > 0).toBe(true);
    expect(() => rootPathOf(hostConfig({ maxPageSize: 0 }))).toThrow();
    expect(() => rootPathOf(hostConfig({ maxRequestBytes: 1.5 }))).toThrow();
  });

  test("HA-12: each option can be absent while the rest works", async () => {
    const rig = new ControlRig({ config: { capabilities: { previews: false, privateInputs: false } } });
    const { capabilities } = (await rig.call("GET", DISCOVERY, { token: null })).body;
    expect(capabilities).toEqual({ offerings: false, previews: false, privateInputs: false });
    const operation = await rig.settled(
      rig.create({ form: KEY_VALUE_ENTRY, name: "a", spec: { key: "k", value: "v" } }),
    );
    expect(operation.status).toBe("succeeded");
    for (const [method, path] of [
      ["POST", "/previews"],
      ["PUT", "/operations/op-1/private-inputs"],
      ["GET", "/offerings?form=https%3A%2F%2Ff.example%2F&space=default"],
    ] as const) {
      const answer = await rig.call(method, path, method === "GET" ? {} : { json: {} });
      expect([answer.status, answer.body.code]).toEqual([404, "capability_unavailable"]);
    }
  });
});

describe("support", () => {
  const support = (rig: ControlRig, query: string, token: string | null = rig.admin) =>
    rig.call("GET", `/support${query}`, { token });

  test("HA-2, HA-51, HA-53, HA-183: a supported Form lists exactly the four operations", async () => {
    const rig = new ControlRig();
    const answer = await support(rig, `?form=${encodeURIComponent(KEY_VALUE_ENTRY)}`);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      form: KEY_VALUE_ENTRY,
      supported: true,
      operations: expect.any(Array),
      privateInputs: false,
    });
    expect((answer.body.operations as string[]).sort()).toEqual(["create", "delete", "read", "update"]);
  });

  test("HA-52, HA-23: an URL that differs by one character is another Form, and unsupported is an answer", async () => {
    const rig = new ControlRig();
    for (const form of [
      `${KEY_VALUE_ENTRY}/`,
      KEY_VALUE_ENTRY.replace("publisher", "Publisher"),
      KEY_VALUE_ENTRY.replace("1.0.0", "1.0.1"),
      KEY_VALUE_ENTRY.replace("/key-", "/x/../key-"),
      "https://elsewhere.example",
    ]) {
      const answer = await support(rig, `?form=${encodeURIComponent(form)}`);
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({ form, supported: false, operations: [], privateInputs: false });
    }
  });

  test("HA-51, HA-23, HA-24: missing, repeated, malformed or unknown parameters are refused", async () => {
    const rig = new ControlRig();
    const good = encodeURIComponent(KEY_VALUE_ENTRY);
    for (const query of [
      "",
      "?form=",
      `?form=${good}&form=${good}`,
      `?form=${good}&extra=1`,
      `?form=${good}&space=default`,
      "?form=http%3A%2F%2Ff.example",
      "?form=https%3A%2F%2F",
      "?form=https%3A%2F%2Fu%40f.example",
      "?form=https%3A%2F%2Ff.example%2F%3Fq",
      "?form=https%3A%2F%2Ff.example%2F%23f",
      "?form=https%3A%2F%2Ff.example%2F%C3%A9",
    ]) {
      const answer = await support(rig, query);
      expect([query, answer.status, answer.body.code]).toEqual([query, 400, "invalid_request"]);
    }
  });

  test("HA-56: support promises nothing about a request: input and authority can still refuse it", async () => {
    const rig = new ControlRig();
    expect((await support(rig, `?form=${encodeURIComponent(KEY_VALUE_ENTRY)}`)).body.supported).toBe(true);
    const entry = { form: KEY_VALUE_ENTRY, name: "a", spec: {} };
    expect((await rig.create(entry)).body.code).toBe("invalid_spec");
    const reader = { token: rig.token("reader", "default", ["read"]) };
    expect((await rig.create(entry, reader)).body.code).toBe("forbidden");
  });

  test("HA-14: the API root has no route for code, data or traffic", async () => {
    const rig = new ControlRig();
    for (const path of ["/artifacts", "/code", "/data", "/bundles", "/run", "/resources/r-1/data"]) {
      expect((await rig.call("PUT", path)).status).toBe(404);
    }
  });

  test("HA-54, HA-55: private inputs need both the Host and the Form", async () => {
    const form = "https://forms.publisher.example/rendered-greeting/1.0.0";
    const query = `?form=${encodeURIComponent(form)}`;
    expect((await support(new ControlRig(), query)).body.privateInputs).toBe(true);
    const without = new ControlRig({ config: { capabilities: { previews: true, privateInputs: false } } });
    expect((await support(without, query)).body).toMatchObject({ supported: true, privateInputs: false });
  });

  test("HA-44: support needs authentication", async () => {
    const rig = new ControlRig();
    const answer = await support(rig, `?form=${encodeURIComponent(KEY_VALUE_ENTRY)}`, null);
    expect([answer.status, answer.body.code]).toEqual([401, "unauthenticated"]);
  });
});
