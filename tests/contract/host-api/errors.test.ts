import { describe, expect, test } from "bun:test";
import { AtollError, type ErrorCode } from "../../../base/errors.ts";
import { silentLogger } from "../../../base/log.ts";
import { problemResponse } from "../../../api/problem.ts";
import { ControlRig } from "../../support/control-rig.ts";
import { KEY_VALUE_ENTRY } from "../../support/publisher/key-value-entry.ts";

const ENTRY = { form: KEY_VALUE_ENTRY, name: "a", spec: { key: "k", value: "v" } };

/** HA-152 … HA-168, written down a second time. */
const CLASSES: readonly (readonly [number, readonly ErrorCode[]])[] = [
  [400, ["invalid_request"]],
  [401, ["unauthenticated"]],
  [403, ["forbidden"]],
  [404, ["not_found", "capability_unavailable"]],
  [405, ["method_not_allowed"]],
  [409, ["name_conflict", "generation_conflict", "resource_busy"]],
  [409, ["idempotency_conflict", "offering_changed", "dependency_conflict"]],
  [409, ["private_inputs_conflict", "private_inputs_unverifiable", "operation_terminal"]],
  [409, ["cursor_expired"]],
  [410, ["gone"]],
  [413, ["request_too_large"]],
  [415, ["unsupported_media_type"]],
  [422, ["unsupported_form", "invalid_spec", "capability_required"]],
  [428, ["expected_generation_required"]],
  [429, ["rate_limited"]],
  [500, ["internal_error"]],
  [503, ["temporarily_unavailable"]],
];

describe("problems", () => {
  test("HA-148, HA-152 … HA-168: every code has its status, and the document has the mandatory fields", async () => {
    for (const [status, codes] of CLASSES) {
      for (const code of codes) {
        const response = problemResponse(new AtollError(code, "what happened"), silentLogger);
        const body = (await response.json()) as Record<string, unknown>;
        expect([code, response.status, body["status"], body["code"]]).toEqual([code, status, status, code]);
        expect(body).toMatchObject({ type: "about:blank", title: expect.any(String) });
        expect(body).not.toHaveProperty("operationId");
        expect(response.headers.get("content-type")).toBe("application/problem+json");
        expect(response.headers.get("cache-control")).toBe("no-store");
      }
    }
  });

  test("HA-33, HA-32, HA-153, HA-166: 401 challenges, 429 says when to come again", () => {
    const challenge = problemResponse(new AtollError("unauthenticated", "x"), silentLogger).headers;
    expect(challenge.get("www-authenticate")).toMatch(/^Bearer /);
    const limited = problemResponse(new AtollError("rate_limited", "x"), silentLogger).headers;
    expect(limited.get("retry-after")).toMatch(/^[1-9][0-9]*$/);
  });

  test("HA-151, HA-167: an unexpected error is a 500 that tells nothing, and is logged", async () => {
    const rig = new ControlRig();
    rig.entries.admitCreate = () => {
      throw new TypeError("undefined is not an object (evaluating /srv/atoll/secret.ts)");
    };
    const answer = await rig.create(ENTRY);
    expect([answer.status, Object.keys(answer.body).sort()]).toEqual([500, ["code", "status", "title", "type"]]);
    expect(answer.body.code).toBe("internal_error");
    expect(answer.text).not.toMatch(/undefined|secret|\.ts|TypeError/);
    expect(rig.logged.join("\n")).toContain("undefined is not an object");
    expect((await rig.call("GET", "/resources")).body.items).toEqual([]);
  });

  test("HA-167, HA-150, HA-96: when the answer is lost after acceptance, the original key finds the Operation", async () => {
    const rig = new ControlRig({
      faults: (point) => {
        if (point === "after-accept") throw new Error("the connection broke");
      },
    });
    const headers = { "idempotency-key": "the-key-of-the-lost-answer" };
    expect((await rig.create(ENTRY, { headers })).status).toBe(500);
    const replay = await rig.create(ENTRY, { headers });
    expect([replay.status, replay.body.status]).toEqual([202, "queued"]);
    expect((await rig.call("GET", "/resources")).body.items).toHaveLength(1);
  });

  test("HA-166: too many unfinished Operations are refused, replays are not, and room makes room", async () => {
    const rig = new ControlRig({ config: { unfinishedMax: 2 } });
    const goOn = rig.backend.standStill();
    const entry = (n: number) => ({ ...ENTRY, name: `n${n}`, spec: { key: `k${n}`, value: "v" } });
    const headers = { "idempotency-key": "the-first-of-too-many" };
    await rig.create(entry(1), { headers });
    await rig.create(entry(2));
    const refused = await rig.create(entry(3));
    expect([refused.status, refused.body.code, refused.headers.get("retry-after")]).toEqual([429, "rate_limited", "1"]);
    expect((await rig.create(entry(1), { headers })).status).toBe(202);
    goOn();
    await rig.settle();
    expect((await rig.create(entry(3))).status).toBe(202);
  });

  test("HA-168: a node that is stopping takes nothing more, and the same key works afterwards", async () => {
    const rig = new ControlRig();
    await rig.control.stop();
    const headers = { "idempotency-key": "sent-to-a-stopping-node" };
    const refused = await rig.create(ENTRY, { headers });
    expect([refused.status, refused.body.code]).toEqual([503, "temporarily_unavailable"]);
    expect((await rig.restart().create(ENTRY, { headers })).status).toBe(202);
  });

  test("HA-149: a Form's own reason stays inside the class of the problem", async () => {
    const rig = new ControlRig();
    const answer = await rig.create({ ...ENTRY, spec: { key: "k", value: "x".repeat(5000) } });
    expect(answer.body).toMatchObject({ status: 422, code: "invalid_spec", detail: expect.stringContaining("value") });
  });

  test("HA-155: a path that does not exist is not found, in and out of the API root", async () => {
    const rig = new ControlRig();
    for (const path of ["/nothing", "//", "//nothing", "/resources/a/b", "/operations", "/operations/a/other"]) {
      const answer = await rig.call("GET", path);
      expect([path, answer.status, answer.body.code]).toEqual([path, 404, "not_found"]);
    }
  });

  test("HA-A1: the order of refusals when several apply", async () => {
    const rig = new ControlRig();
    const { resourceUid: uid } = await rig.settled(rig.create(ENTRY));
    const code = async (answer: ReturnType<ControlRig["call"]>) => (await answer).body.code;
    const reader = { token: rig.token("reader", "default", ["read"]) };
    const key = { "idempotency-key": rig.key() };
    const put = (headers: Record<string, string>, json: unknown, options = {}) =>
      code(rig.call("PUT", `/resources/${uid}`, { headers, json, ...options }));
    // Envelope before the missing generation, both before authorization.
    expect(await put({}, { spec: 1 })).toBe("invalid_request");
    expect(await put(key, { spec: {} }, reader)).toBe("expected_generation_required");
    // Authorization before everything that needs the record.
    const generation = { ...key, "takoform-expected-generation": "9" };
    expect(await put(generation, { spec: {}, privateInputs: {} }, reader)).toBe("forbidden");
    // Capability before generation, generation before spec.
    expect(await put(generation, { spec: {}, privateInputs: {} })).toBe("capability_required");
    expect(await put(generation, { spec: {} })).toBe("generation_conflict");
    // Form before spec and name; spec before name.
    expect(await code(rig.create({ ...ENTRY, form: "https://f.example", spec: {} }))).toBe("unsupported_form");
    expect(await code(rig.create({ ...ENTRY, spec: {} }))).toBe("invalid_spec");
    expect(await code(rig.create(ENTRY))).toBe("name_conflict");
  });
});
