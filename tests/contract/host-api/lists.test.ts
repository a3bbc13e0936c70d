import { describe, expect, test } from "bun:test";
import { type Answer, type CallOptions, ControlRig, type RigOptions } from "../../support/control-rig.ts";
import { KEY_VALUE_ENTRY } from "../../support/publisher/key-value-entry.ts";
import { RENDERED_GREETING } from "../../support/publisher/rendered-greeting.ts";

const outcome = (answer: Answer): readonly [number, string | undefined] => [answer.status, answer.body?.code];
const INVALID = [400, "invalid_request"] as const;

async function withEntries(count: number, options: RigOptions = {}) {
  const rig = new ControlRig(options);
  rig.principals.createSpace("other");
  const uids: string[] = [];
  for (let i = 0; i < count; i++) {
    const space = i % 3 === 2 ? "other" : "default";
    const body = { form: KEY_VALUE_ENTRY, space, name: `n${i}`, spec: { key: `k${i}`, value: "v" } };
    uids.push((await rig.settled(rig.create(body))).resourceUid);
  }
  return { rig, uids: uids.sort() };
}

const list = (rig: ControlRig, query: string, options: CallOptions = {}) =>
  rig.call("GET", `/resources${query}`, options);
const uidsOf = (answer: Answer): string[] => answer.body.items.map((item: { uid: string }) => item.uid);

/** Walks all pages. */
async function walk(rig: ControlRig, query: string, options: CallOptions = {}): Promise<string[]> {
  const seen: string[] = [];
  let cursor: string | null = null;
  do {
    const answer: Answer = await list(rig, `?${query}${cursor === null ? "" : `&cursor=${cursor}`}`, options);
    expect(answer.status).toBe(200);
    seen.push(...uidsOf(answer));
    cursor = answer.body.nextCursor;
  } while (cursor !== null);
  return seen;
}

describe("lists", () => {
  test("HA-6, HA-142, HA-145: pages come in ascending order of UID, without repetition, until null", async () => {
    const { rig, uids } = await withEntries(10);
    for (const limit of [1, 3, 5, 10, 200]) expect(await walk(rig, `limit=${limit}`)).toEqual(uids);
    expect(uidsOf(await list(rig, ""))).toEqual(uids);
    expect((await list(rig, "?limit=10")).body.nextCursor).toBeNull();
    expect((await list(new ControlRig(), "")).body).toEqual({ items: [], nextCursor: null });
  });

  test("HA-83: filters are exact and conjunctive", async () => {
    const { rig, uids } = await withEntries(7);
    const form = encodeURIComponent(KEY_VALUE_ENTRY);
    expect(uidsOf(await list(rig, `?form=${form}`))).toEqual(uids);
    expect(uidsOf(await list(rig, `?form=${form}%2F`))).toEqual([]);
    expect(uidsOf(await list(rig, `?form=${encodeURIComponent(RENDERED_GREETING)}`))).toEqual([]);
    expect(uidsOf(await list(rig, "?space=other"))).toHaveLength(2);
    expect(uidsOf(await list(rig, "?name=n1"))).toHaveLength(1);
    expect(uidsOf(await list(rig, "?name=N1"))).toEqual([]);
    expect(uidsOf(await list(rig, "?name=n"))).toEqual([]);
    expect(uidsOf(await list(rig, `?name=n1&space=default&form=${form}`))).toHaveLength(1);
    expect(uidsOf(await list(rig, "?name=n1&space=other"))).toEqual([]);
    expect(await walk(rig, "space=other&limit=1")).toHaveLength(2);
  });

  test("HA-143, HA-A10: limits and filters that violate their grammar are refused", async () => {
    const { rig } = await withEntries(1, { host: { maxPageSize: 50 } });
    for (const query of [
      "?limit=0",
      "?limit=51",
      "?limit=-1",
      "?limit=01",
      "?limit=1.0",
      "?limit=x",
      "?limit=",
      "?space=",
      "?space=a%20b",
      "?name=%2F",
      "?form=x",
      "?form=http%3A%2F%2Ff.example",
      "?cursor=",
      "?cursor=garbage",
      "?cursor=%00",
      `?cursor=${"A".repeat(5000)}`,
      "?sort=uid",
      "?name=a&name=b",
    ]) {
      expect([query, ...outcome(await list(rig, query))]).toEqual([query, ...INVALID]);
    }
    expect((await list(rig, "?limit=50")).status).toBe(200);
  });

  test("HA-143: without a limit a page has maxPageSize items", async () => {
    const { rig, uids } = await withEntries(5, { host: { maxPageSize: 2 } });
    expect(uidsOf(await list(rig, ""))).toEqual(uids.slice(0, 2));
    expect(await walk(rig, "")).toEqual(uids);
  });

  test("HA-144, HA-A11: a cursor works only for the filters of its walk; the limit may change", async () => {
    const { rig, uids } = await withEntries(6);
    const { body } = await list(rig, "?limit=2");
    const cursor = `cursor=${body.nextCursor}`;
    for (const filter of ["space=default", "name=n1", `form=${encodeURIComponent(KEY_VALUE_ENTRY)}`]) {
      expect(outcome(await list(rig, `?${cursor}&${filter}`))).toEqual(INVALID);
    }
    const filtered = (await list(rig, "?limit=1&space=other")).body.nextCursor;
    expect(outcome(await list(rig, `?cursor=${filtered}`))).toEqual(INVALID);
    expect(outcome(await list(rig, `?cursor=${filtered}&space=default`))).toEqual(INVALID);
    expect(uidsOf(await list(rig, `?${cursor}&limit=3`))).toEqual(uids.slice(2, 5));
  });

  test("HA-144: a cursor works only for its principal, under any of its tokens", async () => {
    const { rig, uids } = await withEntries(4);
    const { body } = await list(rig, "?limit=1");
    const cursor = `?cursor=${body.nextCursor}`;
    const other = rig.principals.issue({ principal: "other-admin", spaces: [], admin: true }).token;
    expect(outcome(await list(rig, cursor, { token: other }))).toEqual(INVALID);
    const same = rig.principals.issue({ principal: "admin", spaces: [] }).token;
    expect(uidsOf(await list(rig, cursor, { token: same }))).toEqual(uids.slice(1));
  });

  test("HA-144, HA-160: an expired cursor says so, and the first page works again", async () => {
    const { rig, uids } = await withEntries(3, { config: { cursorLifetimeMs: 60_000 } });
    const { body } = await list(rig, "?limit=1");
    await rig.clock.advance(59_999);
    expect((await list(rig, `?cursor=${body.nextCursor}`)).status).toBe(200);
    await rig.clock.advance(1);
    expect(outcome(await list(rig, `?cursor=${body.nextCursor}`))).toEqual([409, "cursor_expired"]);
    expect(uidsOf(await list(rig, ""))).toEqual(uids);
  });

  test("HA-144: a cursor is opaque, and one flipped bit makes it worthless", async () => {
    const { rig } = await withEntries(3);
    const cursor: string = (await list(rig, "?limit=1")).body.nextCursor;
    const bytes = Buffer.from(cursor, "base64url");
    expect(bytes.toString("latin1")).not.toMatch(/r-|admin|default/);
    for (let at = 0; at < bytes.length; at += 7) {
      const forged = Buffer.from(bytes);
      forged.writeUInt8(forged.readUInt8(at) ^ 1, at);
      expect(outcome(await list(rig, `?cursor=${forged.toString("base64url")}`))).toEqual(INVALID);
    }
  });

  test("HA-145: what comes and goes during a walk neither repeats nor breaks it", async () => {
    const { rig, uids } = await withEntries(6);
    const { body } = await list(rig, "?limit=3");
    const [first = "", , , fourth = ""] = uids;
    await rig.settled(rig.delete(first, 1));
    await rig.settled(rig.delete(fourth, 1));
    expect(uidsOf(await list(rig, `?cursor=${body.nextCursor}`))).toEqual(uids.slice(4));
  });

  test("HA-50: a walk with few permitted Spaces has full pages and no empty last one", async () => {
    const { rig } = await withEntries(9);
    const token = rig.token("alice", "other", ["read"]);
    expect(await walk(rig, "limit=2", { token })).toHaveLength(3);
    const page = await list(rig, "?limit=3", { token });
    expect([uidsOf(page).length, page.body.nextCursor]).toEqual([3, null]);
  });
});
