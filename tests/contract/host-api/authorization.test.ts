import { describe, expect, test } from "bun:test";
import { type Answer, ControlRig } from "../../support/control-rig.ts";
import { KEY_VALUE_ENTRY } from "../../support/publisher/key-value-entry.ts";
import { RENDERED_GREETING } from "../../support/publisher/rendered-greeting.ts";

const outcome = (answer: Answer): readonly [number, string | undefined] => [answer.status, answer.body?.code];
const entry = (name: string, space = "default") => ({
  form: KEY_VALUE_ENTRY,
  space,
  name,
  spec: { key: `${space}-${name}`, value: "v" },
});
const NOT_FOUND = [404, "not_found"] as const;
const FORBIDDEN = [403, "forbidden"] as const;

/** Two principals, each alone in a Space of its own. */
async function twoTenants() {
  const rig = new ControlRig();
  const alice = { token: rig.token("alice", "a-space") };
  const bob = { token: rig.token("bob", "b-space") };
  const operation = await rig.settled(rig.create(entry("secret-name", "a-space"), alice));
  return { rig, alice, bob, operation, uid: operation.resourceUid as string };
}

describe("authentication", () => {
  test("HA-44: every route but discovery needs a credential", async () => {
    const rig = new ControlRig();
    for (const [method, path] of [
      ["GET", "/support?form=https%3A%2F%2Ff.example"],
      ["GET", "/offerings"],
      ["POST", "/resources"],
      ["GET", "/resources"],
      ["GET", "/resources/r-1"],
      ["PUT", "/resources/r-1"],
      ["DELETE", "/resources/r-1"],
      ["GET", "/operations/op-1"],
      ["PUT", "/operations/op-1/private-inputs"],
      ["POST", "/previews"],
    ] as const) {
      const answer = await rig.call(method, path, { token: null });
      expect([path, ...outcome(answer)]).toEqual([path, 401, "unauthenticated"]);
    }
  });

  test("HA-44: a revoked token opens nothing, from the next request on", async () => {
    const rig = new ControlRig();
    rig.principals.createSpace("default");
    const issued = rig.principals.issue({ principal: "alice", spaces: ["default"] });
    expect((await rig.call("GET", "/resources", { token: issued.token })).status).toBe(200);
    rig.principals.revoke(issued.id);
    expect(outcome(await rig.call("GET", "/resources", { token: issued.token }))).toEqual([401, "unauthenticated"]);
  });

  test("HA-A1: authentication comes before the body, and the body before authorization", async () => {
    const rig = new ControlRig();
    const stranger = { token: rig.token("stranger", "elsewhere") };
    const post = (options: object) =>
      rig.call("POST", "/resources", { raw: "{", headers: { "idempotency-key": rig.key() }, ...options });
    expect((await post({ token: null })).status).toBe(401);
    expect((await post(stranger)).status).toBe(400);
    expect(outcome(await rig.create(entry("a"), stranger))).toEqual(FORBIDDEN);
  });
});

describe("Spaces", () => {
  test("HA-45, HA-50, HA-A12: what belongs to another Space looks like what does not exist", async () => {
    const { rig, bob, uid, operation } = await twoTenants();
    for (const answer of [
      await rig.call("GET", `/resources/${uid}`, bob),
      await rig.call("GET", "/resources/r-none", bob),
      await rig.update(uid, 1, { spec: { key: "k", value: "w" } }, bob),
      await rig.delete(uid, 1, bob),
      await rig.call("GET", `/operations/${operation.id}`, bob),
      await rig.call("GET", "/operations/op-none", bob),
      await rig.call("PUT", `/operations/${operation.id}/private-inputs`, { ...bob, json: { privateInputs: {} } }),
    ]) {
      expect(outcome(answer)).toEqual(NOT_FOUND);
      expect(answer.text).not.toContain("a-space");
      expect(answer.text).not.toContain("secret-name");
    }
  });

  test("HA-50, HA-83: lists, filters and pages show nothing of other Spaces", async () => {
    const { rig, bob, uid } = await twoTenants();
    await rig.settled(rig.create(entry("mine", "b-space"), bob));
    for (const query of [
      "",
      "?space=a-space",
      "?name=secret-name",
      `?form=${encodeURIComponent(KEY_VALUE_ENTRY)}`,
      "?limit=1",
    ]) {
      const { body, text } = await rig.call("GET", `/resources${query}`, bob);
      expect(body.nextCursor).toBeNull();
      expect(text).not.toContain(uid);
    }
    expect((await rig.call("GET", "/resources?space=no-such-space", bob)).body).toEqual({
      items: [],
      nextCursor: null,
    });
  });

  test("HA-45: a Space that one may not write in and one that does not exist refuse alike", async () => {
    const { rig, bob } = await twoTenants();
    const foreign = await rig.create(entry("x", "a-space"), bob);
    const missing = await rig.create(entry("x", "no-such-space"), bob);
    expect(outcome(foreign)).toEqual(FORBIDDEN);
    expect(foreign.text).toBe(missing.text);
    expect(outcome(await rig.create(entry("x", "no-such-space")))).toEqual(FORBIDDEN);
  });

  test("HA-49, HA-68: a name taken in one Space is free in another", async () => {
    const { rig, bob } = await twoTenants();
    expect((await rig.settled(rig.create(entry("secret-name", "b-space"), bob))).status).toBe("succeeded");
  });
});

describe("permissions", () => {
  test("HA-46: reading, writing and using are separate in one Space", async () => {
    const rig = new ControlRig();
    const reader = { token: rig.token("reader", "default", ["read"]) };
    const writer = { token: rig.token("writer", "default", ["write"]) };
    const source = await rig.settled(rig.create(entry("source")));
    const uid: string = source.resourceUid;

    expect((await rig.call("GET", `/resources/${uid}`, reader)).status).toBe(200);
    expect((await rig.call("GET", `/operations/${source.id}`, reader)).status).toBe(200);
    expect(outcome(await rig.update(uid, 1, { spec: { key: "default-source", value: "w" } }, reader))).toEqual(
      FORBIDDEN,
    );
    expect(outcome(await rig.delete(uid, 1, reader))).toEqual(FORBIDDEN);
    expect(outcome(await rig.create(entry("x"), reader))).toEqual(FORBIDDEN);

    expect(outcome(await rig.call("GET", `/resources/${uid}`, writer))).toEqual(FORBIDDEN);
    expect(outcome(await rig.call("GET", `/operations/${source.id}`, writer))).toEqual(FORBIDDEN);
    expect((await rig.call("GET", "/resources", writer)).body.items).toEqual([]);
    expect((await rig.update(uid, 1, { spec: { key: "default-source", value: "w" } }, writer)).status).toBe(202);
  });

  test("HA-46, HA-A12, HA-178: naming a target needs its own permission, and tells nothing without it", async () => {
    const rig = new ControlRig();
    const writer = { token: rig.token("writer", "default", ["read", "write"]) };
    const user = { token: rig.token("user", "default", ["write", "use"]) };
    const { resourceUid } = await rig.settled(rig.create(entry("source")));
    const greeting = (name: string, target: string) => ({
      form: RENDERED_GREETING,
      name,
      spec: { source: { resourceUid: target } },
    });
    const unauthorized = await rig.create(greeting("g", resourceUid), writer);
    const missing = await rig.create(greeting("g", "r-none"), writer);
    expect(outcome(unauthorized)).toEqual([422, "invalid_spec"]);
    expect(unauthorized.text).toBe(missing.text);
    expect((await rig.create(greeting("g", resourceUid), user)).status).toBe(202);
  });

  test("HA-177: a target in another Space is no target, even for a caller at home in both", async () => {
    const rig = new ControlRig();
    rig.principals.createSpace("other");
    const { resourceUid } = await rig.settled(rig.create(entry("source", "other")));
    const spec = { source: { resourceUid } };
    expect(outcome(await rig.create({ form: RENDERED_GREETING, name: "g", spec }))).toEqual([422, "invalid_spec"]);
  });

  test("HA-47: replenishing needs write permission on the Space of the Resource", async () => {
    const rig = new ControlRig();
    const { id } = await rig.settled(rig.create(entry("a")));
    const reader = { token: rig.token("reader", "default", ["read"]) };
    const put = (options: object) =>
      rig.call("PUT", `/operations/${id}/private-inputs`, { ...options, json: { privateInputs: {} } });
    expect(outcome(await put(reader))).toEqual(FORBIDDEN);
    expect(outcome(await put({}))).toEqual([409, "private_inputs_conflict"]);
  });
});

describe("keys and principals", () => {
  test("HA-48, HA-114, HA-185: the same key of two principals is two keys", async () => {
    const rig = new ControlRig();
    const headers = { "idempotency-key": "a-key-that-both-happen-to-use" };
    const first = await rig.create(entry("a"), { token: rig.token("alice"), headers });
    const second = await rig.create(entry("b"), { token: rig.token("bob"), headers });
    expect([first.status, second.status]).toEqual([202, 202]);
    expect(second.body.id).not.toBe(first.body.id);
  });

  test("HA-114: a rotated credential keeps the principal, hence its keys", async () => {
    const rig = new ControlRig();
    const headers = { "idempotency-key": "sent-with-one-token-repeated-with-another" };
    rig.principals.createSpace("default");
    const old = rig.principals.issue({ principal: "alice", spaces: ["default"] });
    const first = await rig.create(entry("a"), { token: old.token, headers });
    const fresh = rig.principals.issue({ principal: "alice", spaces: [] });
    rig.principals.revoke(old.id);
    const replay = await rig.create(entry("a"), { token: fresh.token, headers });
    expect(replay.body.id).toBe(first.body.id);
  });

  test("HA-120: after the authority is gone, a replay is refused and tells nothing of the result", async () => {
    const rig = new ControlRig();
    const token = rig.token("alice");
    const create = { token, headers: { "idempotency-key": "create-key-0123456789" } };
    const { id, resourceUid } = await rig.settled(rig.create(entry("a"), create));
    const update = { token, headers: { "idempotency-key": "update-key-0123456789" } };
    const spec = { key: "default-a", value: "w" };
    await rig.settled(rig.update(resourceUid, 1, { spec }, update));

    rig.principals.setGrant("alice", "default", ["read"]);
    for (const answer of [await rig.create(entry("a"), create), await rig.update(resourceUid, 1, { spec }, update)]) {
      expect(outcome(answer)).toEqual(FORBIDDEN);
      expect(answer.text).not.toContain(id);
      expect(answer.headers.get("location")).toBeNull();
    }
    rig.principals.setGrant("alice", "default", []);
    expect(outcome(await rig.create(entry("a"), create))).toEqual(FORBIDDEN);
    expect(outcome(await rig.update(resourceUid, 1, { spec }, update))).toEqual(NOT_FOUND);
  });
});
