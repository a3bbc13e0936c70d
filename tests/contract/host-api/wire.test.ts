import { describe, expect, test } from "bun:test";
import { type Answer, BASE_URL, ControlRig } from "../../support/control-rig.ts";
import { KEY_VALUE_ENTRY } from "../../support/publisher/key-value-entry.ts";

const BODY = { form: KEY_VALUE_ENTRY, space: "default", name: "a", spec: { key: "k", value: "v" } };
const JSON_TYPE = { "content-type": "application/json" };

/** POST /resources with a raw body. */
function post(rig: ControlRig, raw: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = JSON_TYPE) {
  return rig.call("POST", "/resources", { raw, headers: { "idempotency-key": rig.key(), ...headers } });
}

const outcome = (answer: Answer): readonly [number, string | undefined] => [answer.status, answer.body?.code];

describe("JSON on the wire", () => {
  test("HA-16: successes are application/json, errors are application/problem+json", async () => {
    const rig = new ControlRig();
    const created = await rig.create(BODY);
    const listed = await rig.call("GET", "/resources");
    for (const answer of [created, listed]) expect(answer.headers.get("content-type")).toBe("application/json");
    for (const answer of [
      await rig.call("GET", "/resources", { token: null }),
      await rig.call("GET", "/resources/r-none"),
      await rig.call("GET", "/nowhere"),
      await post(rig, "{"),
    ]) {
      expect(answer.headers.get("content-type")).toBe("application/problem+json");
      expect(answer.body).toMatchObject({ type: "about:blank", status: answer.status });
    }
  });

  test("HA-17, HA-A14: no-store is on every answer but discovery", async () => {
    const rig = new ControlRig();
    const created = await rig.create(BODY);
    for (const answer of [
      created,
      await rig.call("GET", "/resources"),
      await rig.call("GET", `/resources/${created.body.resourceUid}`),
      await rig.call("GET", `/operations/${created.body.id}`),
      await rig.call("GET", "/support?form=https%3A%2F%2Ff.example"),
      await rig.call("GET", "/resources", { token: null }),
      await rig.call("GET", "/nowhere"),
      await rig.call("PATCH", "/resources"),
      await post(rig, "{"),
      await rig.call("GET", "//operator/v1/tokens"),
    ]) {
      expect(answer.headers.get("cache-control")).toBe("no-store");
    }
    const discovery = await rig.call("GET", "//.well-known/takoform/v2", { token: null });
    expect(discovery.headers.get("cache-control")).toBeNull();
  });

  test("HA-19: text that is not strict JSON is refused, and its key stays free", async () => {
    const rig = new ControlRig();
    const good = JSON.stringify(BODY);
    const key = { ...JSON_TYPE, "idempotency-key": "one-key-for-all-of-them" };
    for (const raw of [
      "",
      "{",
      `${good}x`,
      good.replace('"name":"a"', '"name":"a","name":"a"'),
      good.replace('"value":"v"', '"value":"v","value":"w"'),
      good.replace('"v"', '"\\ud800"'),
      good.replace('"v"', "1e999"),
      `\ufeff${good}`,
      "[]",
      "null",
      '"text"',
      `{"a":${"[".repeat(200)}${"]".repeat(200)}}`,
    ]) {
      expect(outcome(await post(rig, raw, key))).toEqual([400, "invalid_request"]);
    }
    expect(outcome(await post(rig, new Uint8Array([0x7b, 0xff, 0x7d]), key))).toEqual([400, "invalid_request"]);
    expect((await post(rig, good, key)).status).toBe(202);
  });

  test("HA-20: integers in answers lie in the safe range", async () => {
    const rig = new ControlRig();
    const operation = await rig.settled(rig.create(BODY));
    const resource = await rig.resource(operation.resourceUid);
    for (const integer of [operation.generation, resource.generation, resource.observedGeneration]) {
      expect(Number.isSafeInteger(integer) && integer >= 0).toBe(true);
    }
  });

  test("HA-21, HA-25: ids match the grammar, and nothing but the nullable fields is null", async () => {
    const rig = new ControlRig();
    rig.backend.standStill();
    const accepted = await rig.create(BODY);
    const resource = await rig.resource(accepted.body.resourceUid);
    const grammar = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
    for (const id of [accepted.body.id, resource.uid, resource.lastOperation]) expect(id).toMatch(grammar);
    const nulls = (body: Record<string, unknown>) => Object.keys(body).filter((field) => body[field] === null);
    expect(nulls(accepted.body)).toEqual([]);
    expect(nulls(resource)).toEqual(["observedAt"]);
    for (const name of ["", ".a", "-a", "a b", "ä", "a/b", "a".repeat(129)]) {
      expect(outcome(await rig.create({ ...BODY, name }))).toEqual([400, "invalid_request"]);
      expect(outcome(await rig.create({ ...BODY, space: name }))).toEqual([400, "invalid_request"]);
    }
    expect((await rig.create({ ...BODY, name: "a".repeat(128) })).status).toBe(202);
    expect((await rig.create({ ...BODY, name: "A.b_c-9" })).status).toBe(202);
  });

  test("HA-22: timestamps are RFC 3339 in UTC", async () => {
    const rig = new ControlRig();
    const operation = await rig.settled(rig.create(BODY));
    const resource = await rig.resource(operation.resourceUid);
    for (const time of [operation.createdAt, operation.updatedAt, operation.retainUntil, resource.observedAt]) {
      expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
    }
  });

  test("HA-24, HA-25, HA-76, HA-A7: unknown, missing and null envelope fields are refused", async () => {
    const rig = new ControlRig();
    for (const body of [
      { ...BODY, extra: 1 },
      { ...BODY, offering: { id: "o", revision: "1" } },
      { ...BODY, uid: "r-1" },
      { ...BODY, form: undefined },
      { ...BODY, form: null },
      { ...BODY, form: "http://f.example" },
      { ...BODY, name: null },
      { ...BODY, space: null },
      { ...BODY, spec: undefined },
      { ...BODY, spec: null },
      { ...BODY, spec: [] },
      { ...BODY, spec: "text" },
      { ...BODY, privateInputs: null },
      { ...BODY, privateInputs: [] },
    ]) {
      expect(outcome(await rig.create(body))).toEqual([400, "invalid_request"]);
    }
    const unknownInSpec = await rig.create({ ...BODY, spec: { key: "k", value: "v", more: 1 } });
    expect(outcome(unknownInSpec)).toEqual([422, "invalid_spec"]);
  });

  test("HA-24: a query parameter where none belongs is refused", async () => {
    const rig = new ControlRig();
    const { body } = await rig.create(BODY);
    for (const [method, path] of [
      ["GET", `/resources/${body.resourceUid}?x=1`],
      ["GET", `/operations/${body.id}?x`],
      ["GET", "/resources?offset=1"],
      ["GET", "/resources?limit=1&limit=1"],
    ] as const) {
      expect(outcome(await rig.call(method, path))).toEqual([400, "invalid_request"]);
    }
    const create = await rig.call("POST", "/resources?dry=1", {
      headers: { "idempotency-key": rig.key() },
      json: BODY,
    });
    expect(outcome(create)).toEqual([400, "invalid_request"]);
  });
});

describe("headers", () => {
  test("HA-28, HA-A16: a body that is not plain application/json in UTF-8 is refused", async () => {
    const rig = new ControlRig();
    const good = JSON.stringify(BODY);
    for (const headers of [
      { "content-type": "text/plain" },
      { "content-type": "application/json; charset=latin1" },
      { "content-type": "application/jsonx" },
      { "content-type": "application/problem+json" },
      { "content-type": "application/json", "content-encoding": "gzip" },
    ]) {
      expect(outcome(await post(rig, good, headers))).toEqual([415, "unsupported_media_type"]);
    }
    for (const type of ["application/json; charset=utf-8", 'Application/JSON;charset="UTF-8"']) {
      const name = `n${rig.key()}`;
      expect((await post(rig, JSON.stringify({ ...BODY, name }), { "content-type": type })).status).toBe(202);
    }
  });

  test("HA-29, HA-113, HA-A6: the idempotency key is mandatory and has its grammar", async () => {
    const rig = new ControlRig();
    const json = BODY;
    expect(outcome(await rig.call("POST", "/resources", { json }))).toEqual([400, "invalid_request"]);
    for (const key of ["short", "x".repeat(15), "x".repeat(129), `-${"x".repeat(20)}`, "with space in the key"]) {
      const answer = await rig.call("POST", "/resources", { json, headers: { "idempotency-key": key } });
      expect(outcome(answer)).toEqual([400, "invalid_request"]);
    }
    for (const key of ["x".repeat(16), "y".repeat(128), "0a1b2c3d-0000-4000-8000-0123456789ab", "A:b.c_d-1234567890"]) {
      const named = { ...json, name: `n-${key.slice(0, 20).replaceAll(":", "")}` };
      expect((await rig.call("POST", "/resources", { json: named, headers: { "idempotency-key": key } })).status).toBe(
        202,
      );
    }
  });

  test("HA-30, HA-A6: the expected generation is mandatory for changes and a canonical decimal", async () => {
    const rig = new ControlRig();
    const { resourceUid } = await rig.settled(rig.create(BODY));
    const send = (method: string, headers: Record<string, string>) =>
      rig.call(method, `/resources/${resourceUid}`, {
        headers: { "idempotency-key": rig.key(), ...headers },
        ...(method === "PUT" ? { json: { spec: BODY.spec } } : {}),
      });
    for (const method of ["PUT", "DELETE"]) {
      expect(outcome(await send(method, {}))).toEqual([428, "expected_generation_required"]);
      for (const value of ["", "x", "+1", "-1", "01", "1.0", "1e0", "0x1", "9007199254740992", "1, 1"]) {
        const answer = await send(method, { "takoform-expected-generation": value });
        expect([value, ...outcome(answer)]).toEqual([value, 400, "invalid_request"]);
      }
    }
    expect((await send("PUT", { "takoform-expected-generation": "1" })).status).toBe(202);
  });

  test("HA-31, HA-32, HA-A13: Location comes from the configured base URL, Retry-After with every 202", async () => {
    const rig = new ControlRig();
    const accepted = await rig.call("POST", "/resources", {
      headers: { "idempotency-key": "the-key-of-this-create", host: "evil.example" },
      json: BODY,
    });
    expect(accepted.status).toBe(202);
    expect(accepted.headers.get("location")).toBe(`${BASE_URL}/operations/${accepted.body.id}`);
    expect(Number(accepted.headers.get("retry-after"))).toBeGreaterThan(0);
    await rig.settle();
    const replay = await rig.call("POST", "/resources", {
      headers: { "idempotency-key": "the-key-of-this-create" },
      json: BODY,
    });
    expect(replay.status).toBe(200);
    expect(replay.headers.get("location")).toBe(`${BASE_URL}/operations/${accepted.body.id}`);
    expect(replay.headers.get("retry-after")).toBeNull();
  });

  test("HA-33, HA-153: a missing or bad credential is challenged", async () => {
    const rig = new ControlRig();
    for (const authorization of [null, "Bearer", "Bearer x", `Basic ${rig.admin}`, `Bearer ${rig.admin}x`, rig.admin]) {
      const headers: Record<string, string> = authorization === null ? {} : { authorization };
      const answer = await rig.call("GET", "/resources", { token: null, headers });
      expect(outcome(answer)).toEqual([401, "unauthenticated"]);
      expect(answer.headers.get("www-authenticate")).toMatch(/^Bearer /);
    }
    const lower = await rig.call("GET", "/resources", {
      token: null,
      headers: { authorization: `bearer ${rig.admin}` },
    });
    expect(lower.status).toBe(200);
  });

  test("HA-34, HA-156: a method that a path does not take is answered with those it takes", async () => {
    const rig = new ControlRig();
    for (const [method, path, allow] of [
      ["PATCH", "/resources", "GET, HEAD, POST"],
      ["DELETE", "/resources", "GET, HEAD, POST"],
      ["POST", "/resources/r-1", "GET, HEAD, PUT, DELETE"],
      ["PUT", "/operations/op-1", "GET, HEAD"],
      ["GET", "/operations/op-1/private-inputs", "PUT"],
      ["GET", "/previews", "POST"],
      ["POST", "/support", "GET, HEAD"],
      ["POST", "/offerings", "GET, HEAD"],
      ["OPTIONS", "/resources", "GET, HEAD, POST"],
    ] as const) {
      const answer = await rig.call(method, path);
      expect([method, path, ...outcome(answer)]).toEqual([method, path, 405, "method_not_allowed"]);
      expect(answer.headers.get("allow")).toBe(allow);
    }
  });

  test("HA-15: HEAD is GET without a body", async () => {
    const rig = new ControlRig();
    const answer = await rig.call("HEAD", "/resources");
    expect([answer.status, answer.text]).toEqual([200, ""]);
  });

  test("HA-18: nothing is ever answered with a redirect", async () => {
    const rig = new ControlRig();
    for (const path of ["/resources/", "//", "//apis", "//apis/forms.takoform.com/v2", "/Resources", "/resources//"]) {
      const answer = await rig.call("GET", path);
      expect([path, ...outcome(answer)]).toEqual([path, 404, "not_found"]);
    }
  });

  test("a request with a very short host name finds its way too", async () => {
    const rig = new ControlRig();
    for (const host of ["h", "[::]", "a.b"]) {
      const response = await rig.api.handle(new Request(`http://${host}/.well-known/takoform/v2`));
      expect(response.status).toBe(200);
    }
  });
});

describe("size", () => {
  const limited = () => new ControlRig({ host: { maxRequestBytes: 1000 } });
  const padded = (size: number): string => JSON.stringify(BODY).padEnd(size, " ");

  test("HA-41, HA-162: octets beyond the limit are refused, those up to it are not", async () => {
    const rig = limited();
    expect(outcome(await post(rig, padded(1001)))).toEqual([413, "request_too_large"]);
    expect((await post(rig, padded(1000))).status).toBe(202);
    const wide = JSON.stringify({ ...BODY, name: "b", spec: { key: "k2", value: "é".repeat(450) } });
    expect(wide.length).toBeLessThan(1000);
    expect(outcome(await post(rig, wide))).toEqual([413, "request_too_large"]);
  });

  test("HA-41: a body without declared length is cut off when it exceeds the limit", async () => {
    const rig = limited();
    let sent = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 100;
        controller.enqueue(new Uint8Array(100).fill(0x20));
      },
    });
    const answer = await rig.call("POST", "/resources", {
      raw: endless,
      headers: { ...JSON_TYPE, "idempotency-key": rig.key() },
    });
    expect(outcome(answer)).toEqual([413, "request_too_large"]);
    expect(sent).toBeLessThan(3000);
  });

  test("HA-90, HA-A9: a DELETE takes no body", async () => {
    const rig = new ControlRig();
    const { resourceUid } = await rig.settled(rig.create(BODY));
    const headers = { "idempotency-key": rig.key(), "takoform-expected-generation": "1" };
    for (const raw of ["{}", " "]) {
      const answer = await rig.call("DELETE", `/resources/${resourceUid}`, { raw, headers });
      expect(outcome(answer)).toEqual([400, "invalid_request"]);
    }
    expect((await rig.call("DELETE", `/resources/${resourceUid}`, { headers })).status).toBe(202);
  });
});

describe("paths", () => {
  test("HA-A10, HA-155: a malformed id in a path names nothing", async () => {
    const rig = new ControlRig();
    for (const id of ["%zz", "%2F", "a%20b", "%E0%A4%A", "-x", "a".repeat(129), "r%2Fx", "%00"]) {
      expect(outcome(await rig.call("GET", `/resources/${id}`))).toEqual([404, "not_found"]);
      expect(outcome(await rig.call("GET", `/operations/${id}`))).toEqual([404, "not_found"]);
      expect(outcome(await rig.update(id, 1, { spec: {} }))).toEqual([404, "not_found"]);
      expect(outcome(await rig.delete(id, 1))).toEqual([404, "not_found"]);
    }
  });
});
