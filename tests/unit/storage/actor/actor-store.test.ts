import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, linkSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SeededRandom } from "../../../../base/random.ts";
import { ActorStore } from "../../../../storage/actor/actor-store.ts";
import { actorPath } from "../../../../storage/actor/actor-key.ts";
import { rejectionCode } from "../../../support/rejection.ts";
import { temporaryDirectory } from "../../../support/temporary-directory.ts";
import { ActorRig, actor, failure, times } from "./actor-rig.ts";

let directory: ReturnType<typeof temporaryDirectory>;
let rig: ActorRig;
const key = actor("some-actor");

const fileOf = (one = key): string => {
  const { directory: below, file } = actorPath(one);
  return join(directory.path, "actors", below, file);
};

beforeEach(async () => {
  directory = temporaryDirectory();
  rig = await ActorRig.open(directory.path, 1);
});
afterEach(async () => {
  await rig.close();
  directory[Symbol.dispose]();
});

describe("the file of a store", () => {
  test("AN-81, AN-82: each actor has a store of its own, which outlives its openings", async () => {
    const [one, other] = [await rig.store(key), await rig.store(actor("some-actor", "ns-2"))];
    one.execute("CREATE TABLE t (a)");
    one.execute("INSERT INTO t VALUES (1)");
    expect(failure(() => other.query("SELECT * FROM t"))).toBe("invalid_sql");
    await other.close();
    for (let i = 0; i < 3; i++) {
      const store = i === 0 ? one : await rig.store(key);
      expect(store.query("SELECT a FROM t").rows).toEqual([{ a: 1 }]);
      expect(await store.close()).toBe("clean");
    }
    expect(readdirSync(join(directory.path, "open"))).toEqual([]);
  });

  test("ids of any kind have files of their own, inside the directory of their namespace", async () => {
    const ids = ["a", "A", "../../x", "a/b", "ä".repeat(200), ".", "x".repeat(256), "a.sqlite", "~a", " "];
    for (const id of ids) {
      const store = await rig.store(actor(id));
      store.execute("CREATE TABLE t (a)");
      store.execute("INSERT INTO t VALUES (?)", [id]);
      await store.close();
    }
    for (const id of ids) {
      const store = await rig.store(actor(id));
      expect(store.query("SELECT a FROM t").rows).toEqual([{ a: id }]);
      await store.close();
    }
    expect(readdirSync(directory.path).sort()).toEqual(["actors", "log", "open"]);
    expect(readdirSync(join(directory.path, "actors"))).toEqual(["ns-1"]);
    expect(
      readdirSync(join(directory.path, "actors", "ns-1"), { recursive: true }).filter((name) =>
        String(name).endsWith(".sqlite"),
      ),
    ).toHaveLength(ids.length);
  });

  test("an actor that stores nothing leaves nothing, and writes no record", async () => {
    const store = await rig.store(key);
    expect(store.query("SELECT 1 AS x").rows).toEqual([{ x: 1 }]);
    expect(store.query("CREATE TABLE t (a)").rows).toEqual([]);
    store.store.host.clearNextAlarm();
    expect(await store.close()).toBe("clean");
    expect(existsSync(fileOf())).toBe(false);
    expect(rig.log.lastSequence).toBe(0);
  });

  test("what is committed is in the log, and not in the file before a checkpoint", async () => {
    const store = await rig.store(key);
    const before = readFileSync(fileOf());
    store.execute("CREATE TABLE t (a)");
    await store.store.durable();
    expect(readFileSync(fileOf()).equals(before)).toBe(true);
    expect(rig.log.lastSequence).toBe(1);
    expect(store.store.checkpointBytes).toBeGreaterThan(0);
    expect(await store.store.checkpoint()).toBe(true);
    expect(store.store.checkpointBytes).toBe(0);
    expect(readFileSync(fileOf()).equals(before)).toBe(false);
    store.execute("INSERT INTO t VALUES (1)");
    expect(await store.close()).toBe("clean");
  });

  test("a rolled-back transaction that spilled leaves no trace in the log, nor does what follows it miss anything", async () => {
    const store = await rig.store(key);
    store.execute("CREATE TABLE t (a)");
    const fill =
      "INSERT INTO t SELECT randomblob(4000) FROM (WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i < 900) SELECT i FROM c)";
    const bytes = rig.log.retainedBytes;
    expect(store.query(fill).rowsWritten).toBe(0);
    expect(rig.log.retainedBytes).toBe(bytes);
    store.execute("INSERT INTO t VALUES (7)");
    expect(rig.log.retainedBytes - bytes).toBeLessThan(3 * 4200);
    store.execute(fill);
    await store.store.durable();
    await store.die();
    store.opening.closed("lost");
    const again = await rig.store(key);
    expect(again.query("SELECT count(*) AS n, sum(length(a)) AS s FROM t").rows).toEqual([
      { n: 901, s: 900 * 4000 + 1 },
    ]);
    await again.close();
  });
});

describe("ends of a store", () => {
  test("a commit that never reached the log is gone after a lost store, and everything that did is there", async () => {
    const store = await rig.store(key);
    store.execute("CREATE TABLE t (a)");
    store.execute("INSERT INTO t VALUES ('in the log')");
    await store.store.durable();
    store.cutOff();
    store.execute("INSERT INTO t VALUES ('on the way')");
    await store.store.durable().catch(() => {});
    expect(failure(() => store.query("SELECT 1"))).toBe("backend_unavailable");
    expect(failure(() => store.store.host.setNextAlarm(1))).toBe("backend_unavailable");
    expect(await store.close()).toBe("lost");

    const again = await rig.store(key);
    expect(again.query("SELECT a FROM t").rows).toEqual([{ a: "in the log" }]);
    await again.close();
  });

  test("however a store ends, nothing moves into its file that is not in the log", async () => {
    const store = await rig.store(key);
    store.execute("CREATE TABLE t (a)");
    await store.store.checkpoint();
    const before = readFileSync(fileOf());
    store.execute("INSERT INTO t VALUES (1)");
    store.cutOff();
    store.execute("INSERT INTO t VALUES (2)");
    await store.close();
    expect(readFileSync(fileOf()).equals(before)).toBe(true);
    const again = await rig.store(key);
    expect(again.query("SELECT a FROM t").rows).toEqual([{ a: 1 }]);
    await again.close();
  });

  test("a store is open once, and an opening that has ended writes nothing", async () => {
    const store = await rig.store(key);
    store.execute("CREATE TABLE t (a)");
    expect((await rig.actors.open(key).catch((error: unknown) => error)) as Error).toBeInstanceOf(Error);
    await store.die();
    store.opening.closed("lost");
    const sequence = rig.log.lastSequence;
    expect(await rejectionCode(store.opening.sink.committed(new Uint8Array(16)))).toBe("context_expired");
    expect(await rejectionCode(store.opening.sink.synced())).toBe("context_expired");
    expect(() => store.opening.closed("clean")).toThrow("has ended");
    expect(rig.log.lastSequence).toBe(sequence);
    await (await rig.store(key)).close();
  });

  test("a second holder is kept out by the lock of the file, even when all else has failed", async () => {
    const store = await rig.store(key);
    store.execute("CREATE TABLE t (a)");
    const path = join(directory.path, "open", "second.sqlite");
    linkSync(fileOf(), path);
    const open = () =>
      ActorStore.open({ path, sink: store.opening.sink, random: new SeededRandom(1), quotaBytes: 1 << 20 });
    expect(failure(open)).toBe("backend_unavailable");
    expect(existsSync(path)).toBe(false);
    expect(store.execute("INSERT INTO t VALUES (1)").rowsWritten).toBe(1);
    await store.close();
  });

  test("a file of another life is never joined to the log's records", async () => {
    for (const id of ["one", "two"]) {
      const store = await rig.store(actor(id));
      store.execute("CREATE TABLE t (a)");
      await store.store.checkpoint();
      store.execute("INSERT INTO t VALUES (1)");
      await store.store.durable();
      await store.die();
      store.opening.closed("lost");
    }
    writeFileSync(fileOf(actor("one")), readFileSync(fileOf(actor("two"))));
    expect(await rejectionCode(rig.actors.open(actor("one")))).toBe("store_damaged");
    await (await rig.store(actor("two"))).close();
  });
});

describe("AN-96: the quota", () => {
  test("a full store refuses with storage_full, stays as it was, and still has room for the host's rows", async () => {
    const store = await rig.store(key, 200_000);
    store.execute("CREATE TABLE t (a)");
    const blob = { encoding: "base64", data: Buffer.alloc(10_000, 1).toString("base64") };
    let rows = 0;
    while (failure(() => store.execute("INSERT INTO t VALUES (?)", [blob])) === "nothing") rows++;
    expect(rows).toBeGreaterThan(5);
    expect(failure(() => store.execute("INSERT INTO t VALUES (?)", [blob]))).toBe("storage_full");
    const list = [
      { sql: "UPDATE t SET a = 1 WHERE rowid = 1" },
      ...times(9, { sql: "INSERT INTO t VALUES (?)", params: [blob] }),
    ];
    expect(failure(() => store.store.sql.transaction(list))).toBe("storage_full");
    expect(store.query("SELECT count(*) AS n, min(length(a)) AS l FROM t").rows).toEqual([{ n: rows, l: 10_000 }]);

    for (let i = 0; i < 30; i++) store.store.host.putSocket({ id: `${i}`, attachment: new Uint8Array(16_384) });
    store.store.host.setNextAlarm(5);
    expect(failure(() => store.execute("INSERT INTO t VALUES (?)", [blob]))).toBe("storage_full");
    store.execute("DELETE FROM t");
    for (let i = 0; i < 30; i++) store.store.host.removeSocket(`${i}`);
    store.execute("INSERT INTO t VALUES (?)", [blob]);
    await store.store.checkpoint();
    expect(statSync(fileOf()).size).toBeLessThan(200_000 + 4096 * 1024);
    await store.close();
  });
});

describe("what the host keeps in a store", () => {
  test("AN-101, AN-102, AN-103: the next alarm and the owed one are two things", async () => {
    let store = await rig.store(key);
    const reopen = async (): Promise<void> => {
      await store.close();
      store = await rig.store(key);
    };
    const seen = () => [store.store.host.nextAlarm(), store.store.host.owedAlarm()];
    expect(seen()).toEqual([null, null]);
    store.store.host.setNextAlarm(0);
    expect(seen()).toEqual([0, null]);
    store.store.host.setNextAlarm(Number.MAX_SAFE_INTEGER);
    await reopen();
    expect(seen()).toEqual([Number.MAX_SAFE_INTEGER, null]);
    store.store.host.oweNextAlarm();
    expect(seen()).toEqual([null, { atMs: Number.MAX_SAFE_INTEGER, attempts: 0 }]);
    store.store.host.clearNextAlarm();
    store.store.host.setNextAlarm(9);
    store.store.host.alarmFailed();
    await reopen();
    expect(seen()).toEqual([9, { atMs: Number.MAX_SAFE_INTEGER, attempts: 1 }]);
    expect(() => store.store.host.oweNextAlarm()).toThrow("one alarm");
    store.store.host.settleAlarm();
    expect(seen()).toEqual([9, null]);
    store.store.host.clearNextAlarm();
    store.store.host.clearNextAlarm();
    expect(seen()).toEqual([null, null]);
    expect(() => store.store.host.setNextAlarm(-1)).toThrow();
    await store.close();
  });

  test("AN-129, AN-132: attachments are copies, and sockets come in the order of their ids", async () => {
    const store = await rig.store(key);
    const bytes = new Uint8Array([1, 2, 3]);
    for (const id of ["b", "a", "B", "10", "9"])
      store.store.host.putSocket({ id, attachment: id === "a" ? bytes : null });
    bytes[0] = 9;
    expect(store.store.host.sockets().map(({ id }) => id)).toEqual(["10", "9", "B", "a", "b"]);
    expect(store.store.host.socket("a")?.attachment).toEqual(new Uint8Array([1, 2, 3]));
    store.store.host.putSocket({ id: "a", attachment: null });
    store.store.host.removeSocket("b");
    await store.close();
    const again = await rig.store(key);
    expect(again.store.host.socket("a")).toEqual({ id: "a", attachment: null });
    expect(again.store.host.socket("b")).toBeNull();
    expect(() => again.store.host.putSocket({ id: "c", attachment: new Uint8Array(16_385) })).toThrow();
    await again.close();
  });
});

describe("the log behind the stores", () => {
  test("AN-112: a purge removes one namespace's files and records, also for the next owner, and nothing else", async () => {
    for (const namespace of ["ns-1", "ns-10"]) {
      for (const id of ["a", "b"]) {
        const store = await rig.store(actor(id, namespace));
        store.execute("CREATE TABLE t (a)");
        await store.close();
      }
    }
    await rig.actors.purge("ns-1");
    expect(readdirSync(join(directory.path, "actors"))).toEqual(["ns-10"]);
    await rig.close();
    rig = await ActorRig.open(directory.path, 2);
    const [purged, kept] = [await rig.store(actor("a", "ns-1")), await rig.store(actor("a", "ns-10"))];
    expect(failure(() => purged.query("SELECT * FROM t"))).toBe("invalid_sql");
    expect(kept.query("SELECT * FROM t").rows).toEqual([]);
    await purged.close();
    await kept.close();
  });

  test("the log is let go once the files are synced: open ones by checkpoint, closed ones by settling", async () => {
    await rig.close();
    rig = await ActorRig.open(directory.path, 2, { segmentBytes: 64 << 10 });
    const [open, closed, lost] = [
      await rig.store(actor("open")),
      await rig.store(actor("closed")),
      await rig.store(actor("lost")),
    ];
    for (const store of [open, closed, lost]) store.execute("CREATE TABLE t (a)");
    for (let i = 0; i < 30; i++)
      for (const store of [open, closed, lost]) store.execute("INSERT INTO t VALUES (?)", [i]);
    await Promise.all([open, closed, lost].map((store) => store.store.durable()));
    await closed.close();
    await lost.die();
    lost.opening.closed("lost");

    await rig.actors.trim();
    const bytes = rig.log.retainedBytes;
    expect(bytes).toBeGreaterThan(300_000);
    expect(rig.actors.due({ actorBytesMax: 1 << 30, logBytesMax: 1 << 30 })).toEqual({ open: [], closed: [] });
    expect(rig.actors.due({ actorBytesMax: 1 << 30, logBytesMax: bytes - 1000 }).open).toEqual([actor("open")]);
    expect(rig.actors.due({ actorBytesMax: 10_000, logBytesMax: 1 << 30 })).toEqual({
      open: [actor("open")],
      closed: [actor("closed"), actor("lost")],
    });
    await open.store.checkpoint();
    for (const one of [actor("closed"), actor("lost"), actor("open")]) await rig.actors.settle(one);
    await rig.actors.trim();
    expect(rig.log.retainedBytes).toBeLessThan(100_000);
    await open.close();

    await rig.close();
    rig = await ActorRig.open(directory.path, 3);
    for (const id of ["open", "closed", "lost"]) {
      const store = await rig.store(actor(id));
      expect(store.query("SELECT count(*) AS n FROM t").rows).toEqual([{ n: 30 }]);
      await store.close();
    }
  });
});
