import { describe, expect, test } from "bun:test";
import { AtollError } from "../../../base/errors.ts";
import { ARTIFACT_BYTES_MAX } from "../../../base/limits.ts";
import { type Answer, type CallOptions, ControlRig } from "../../support/control-rig.ts";
import { KEY_VALUE_ENTRY } from "../../support/publisher/key-value-entry.ts";

const outcome = (answer: Answer): readonly [number, string | undefined] => [answer.status, answer.body?.code];
const call = (rig: ControlRig, method: string, path: string, options: CallOptions = {}) =>
  rig.call(method, `//operator/v1${path}`, options);
const HEX = "ab".repeat(32);
const ARTIFACT = `/artifacts/sha256/${HEX}`;

describe("operator API", () => {
  test("HA-44: everything needs an admin; others are refused, strangers are challenged", async () => {
    const rig = new ControlRig();
    const token = rig.token("alice");
    for (const [method, path] of [
      ["GET", "/tokens"],
      ["POST", "/tokens"],
      ["DELETE", "/tokens/x"],
      ["GET", "/spaces"],
      ["POST", "/spaces"],
      ["GET", "/principals"],
      ["PUT", "/principals/alice/spaces/default"],
      ["GET", "/health"],
    ] as const) {
      expect(outcome(await call(rig, method, path, { token }))).toEqual([403, "forbidden"]);
      expect(outcome(await call(rig, method, path, { token: null }))).toEqual([401, "unauthenticated"]);
    }
  });

  test("HA-27: what it adds stands outside the API root and changes nothing there", async () => {
    const rig = new ControlRig();
    for (const path of ["/tokens", "/spaces", "/operator/v1/tokens", ARTIFACT]) {
      expect(outcome(await rig.call("GET", path))).toEqual([404, "not_found"]);
    }
    expect(outcome(await call(rig, "GET", "/resources"))).toEqual([404, "not_found"]);
  });

  test("health tells how much is unfinished", async () => {
    const rig = new ControlRig();
    rig.backend.standStill();
    await rig.create({ form: KEY_VALUE_ENTRY, name: "a", spec: { key: "k", value: "v" } });
    const { body } = await call(rig, "GET", "/health");
    expect(body).toEqual({ status: "ok", resources: 1, unfinishedOperations: 1 });
  });
});

describe("tokens and Spaces", () => {
  test("a token is made, works, is listed without its secret, and is revoked", async () => {
    const rig = new ControlRig();
    const made = await call(rig, "POST", "/tokens", { json: { principal: "alice", spaces: ["default"], label: "ci" } });
    expect(made.status).toBe(201);
    expect(made.headers.get("cache-control")).toBe("no-store");
    const { id, token } = made.body;
    expect(made.body).toEqual({ id, token, principal: "alice", spaces: ["default"] });
    expect((await rig.call("GET", "/resources", { token })).status).toBe(200);

    const listed = await call(rig, "GET", "/tokens");
    expect(listed.body.items.find((item: { id: string }) => item.id === id)).toMatchObject({
      principal: "alice",
      spaces: ["default"],
      label: "ci",
      revokedAt: null,
    });
    expect(listed.text).not.toContain(token.split("_")[2]);

    expect((await call(rig, "DELETE", `/tokens/${id}`)).status).toBe(204);
    expect((await rig.call("GET", "/resources", { token })).status).toBe(401);
    expect(outcome(await call(rig, "DELETE", "/tokens/unknown"))).toEqual([404, "not_found"]);
    expect(rig.logged.join("\n")).not.toContain(token);
  });

  test("a Space is made once and listed; tokens for unknown Spaces are refused", async () => {
    const rig = new ControlRig();
    const request = { json: { name: "team-a" } };
    expect((await call(rig, "POST", "/spaces", request)).status).toBe(201);
    expect((await call(rig, "POST", "/spaces", request)).status).toBe(200);
    const { body } = await call(rig, "GET", "/spaces");
    expect(body.items.map((item: { name: string }) => item.name)).toEqual(["default", "team-a"]);
    const refused = await call(rig, "POST", "/tokens", { json: { principal: "alice", spaces: ["nowhere"] } });
    expect(outcome(refused)).toEqual([404, "not_found"]);
  });

  test("malformed bodies are refused", async () => {
    const rig = new ControlRig();
    for (const json of [
      {},
      { principal: 1 },
      { principal: "a b" },
      { principal: "a", spaces: "default" },
      { principal: "a", spaces: [1] },
      { principal: "a", permissions: ["fly"] },
      { principal: "a", admin: "yes" },
      { principal: "a", extra: 1 },
    ]) {
      expect(outcome(await call(rig, "POST", "/tokens", { json }))).toEqual([400, "invalid_request"]);
    }
    for (const json of [{}, { name: "a b" }, { name: "a", x: 1 }]) {
      expect(outcome(await call(rig, "POST", "/spaces", { json }))).toEqual([400, "invalid_request"]);
    }
    expect(
      outcome(await call(rig, "POST", "/spaces", { raw: "name", headers: { "content-type": "text/plain" } })),
    ).toEqual([415, "unsupported_media_type"]);
  });

  test("HA-46: grants are read and replaced for one principal and Space", async () => {
    const rig = new ControlRig();
    const token = rig.token("alice");
    const path = "/principals/alice/spaces/default";
    expect((await call(rig, "PUT", path, { json: { permissions: ["read"] } })).status).toBe(200);
    const { body } = await call(rig, "GET", "/principals");
    expect(body.items).toContainEqual({
      principal: "alice",
      admin: false,
      grants: [{ space: "default", permissions: ["read"] }],
    });
    const create = await rig.create({ form: KEY_VALUE_ENTRY, name: "a", spec: { key: "k", value: "v" } }, { token });
    expect(outcome(create)).toEqual([403, "forbidden"]);
    expect(outcome(await call(rig, "PUT", "/principals/nobody/spaces/default", { json: { permissions: [] } }))).toEqual(
      [404, "not_found"],
    );
    expect(outcome(await call(rig, "PUT", "/principals/alice/spaces/none", { json: { permissions: [] } }))).toEqual([
      404,
      "not_found",
    ]);
  });
});

describe("artifact upload", () => {
  const raw = new Uint8Array([1, 2, 3]);

  test("the first upload is 201, the same again 200, and HEAD finds it", async () => {
    const rig = new ControlRig();
    expect((await call(rig, "HEAD", ARTIFACT)).status).toBe(404);
    const first = await call(rig, "PUT", ARTIFACT, { raw });
    expect([first.status, first.body]).toEqual([201, { sha256: HEX, byteSize: 3, spaces: ["default"] }]);
    expect((await call(rig, "PUT", ARTIFACT, { raw })).status).toBe(200);
    expect((await call(rig, "HEAD", ARTIFACT)).status).toBe(200);
  });

  test("use is granted to the Spaces named, else to all that the caller may write in", async () => {
    const rig = new ControlRig();
    const alice = { token: rig.token("alice", "a-space") };
    rig.token("alice", "b-space");
    rig.token("alice", "read-only", ["read"]);
    await call(rig, "PUT", ARTIFACT, { ...alice, raw });
    expect([...(rig.artifacts.held.get(HEX)?.spaces ?? [])].sort()).toEqual(["a-space", "b-space"]);
    const other = `/artifacts/sha256/${"cd".repeat(32)}`;
    await call(rig, "PUT", `${other}?space=b-space&space=a-space&space=b-space`, { ...alice, raw });
    expect([...(rig.artifacts.held.get("cd".repeat(32))?.spaces ?? [])].sort()).toEqual(["a-space", "b-space"]);
    for (const space of ["read-only", "default", "nowhere"]) {
      expect(outcome(await call(rig, "PUT", `${ARTIFACT}?space=${space}`, { ...alice, raw }))).toEqual([
        403,
        "forbidden",
      ]);
    }
    const bob = { token: rig.token("bob", "read-only", ["read"]) };
    expect(outcome(await call(rig, "PUT", ARTIFACT, { ...bob, raw }))).toEqual([403, "forbidden"]);
    expect((await call(rig, "HEAD", ARTIFACT, bob)).status).toBe(404);
  });

  test("HA-179: what the store refuses is refused with its own class", async () => {
    const rig = new ControlRig();
    rig.artifacts.refusal = new AtollError("artifact_digest_mismatch", "other bytes");
    expect(outcome(await call(rig, "PUT", ARTIFACT, { raw }))).toEqual([422, "artifact_digest_mismatch"]);
    rig.artifacts.refusal = new AtollError("artifact_limit_exceeded", "too many");
    expect(outcome(await call(rig, "PUT", ARTIFACT, { raw }))).toEqual([413, "artifact_limit_exceeded"]);
    rig.artifacts.refusal = new Error("disk /var/lib/atoll broke");
    const broken = await call(rig, "PUT", ARTIFACT, { raw });
    expect(outcome(broken)).toEqual([500, "internal_error"]);
    expect(broken.text).not.toContain("/var");
  });

  test("a declared length above the limit is refused before anything is read", async () => {
    const rig = new ControlRig();
    const headers = { "content-length": String(ARTIFACT_BYTES_MAX + 1) };
    const answer = await call(rig, "PUT", ARTIFACT, { raw, headers });
    expect(outcome(answer)).toEqual([413, "artifact_limit_exceeded"]);
    expect(rig.artifacts.held.size).toBe(0);
  });

  test("a malformed digest or query is refused", async () => {
    const rig = new ControlRig();
    for (const hex of ["x", HEX.toUpperCase(), HEX.slice(1), `${HEX}0`]) {
      expect(outcome(await call(rig, "PUT", `/artifacts/sha256/${hex}`, { raw }))).toEqual([404, "not_found"]);
    }
    for (const query of ["?space=", "?x=1", "?space=a%20b"]) {
      expect(outcome(await call(rig, "PUT", ARTIFACT + query, { raw }))).toEqual([400, "invalid_request"]);
    }
    const wrong = await call(rig, "POST", ARTIFACT, { raw });
    expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "PUT, HEAD"]);
  });
});
