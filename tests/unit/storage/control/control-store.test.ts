import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { getTableColumns, getTableName, is } from "drizzle-orm";
import { getTableConfig, SQLiteTable } from "drizzle-orm/sqlite-core";
import * as fc from "fast-check";
import { statSync } from "node:fs";
import { join } from "node:path";
import type { FormUrl, OperationId, PrincipalId, ResourceUid, SpaceName } from "../../../../base/ids.ts";
import { InvariantViolation } from "../../../../base/invariant.ts";
import { ControlStore } from "../../../../storage/control/control-store.ts";
import type { OperationRow, ResourceRow } from "../../../../storage/control/records.ts";
import * as schema from "../../../../storage/control/schema.ts";
import { temporaryDirectory } from "../../../support/temporary-directory.ts";

const uid = (text: string) => text as ResourceUid;

const RESOURCE: ResourceRow = {
  uid: uid("r-1"),
  form: "https://form.example/" as FormUrl,
  space: "default" as SpaceName,
  name: "a",
  owner: "p" as PrincipalId,
  generation: 1,
  observedGeneration: 0,
  observedAtMs: null,
  phase: "idle",
  spec: { text: "é😀", list: [1, null, { deep: true }] },
  observed: {},
  output: {},
  lastOperation: "op-1" as OperationId,
  backend: null,
  wakeAtMs: null,
};

const OPERATION: OperationRow = {
  id: "op-1" as OperationId,
  resourceUid: RESOURCE.uid,
  space: RESOURCE.space,
  principal: RESOURCE.owner,
  action: "create",
  generation: 1,
  status: "succeeded",
  effect: "complete",
  createdAtMs: 10,
  updatedAtMs: 20,
  retainUntilMs: 100,
  windowMs: 90,
  errorCode: null,
  errorMessage: null,
  inputReason: null,
  inputNames: ["a", "b"],
  attempt: "idle",
};

const memory = (): ControlStore => ControlStore.open(":memory:");

describe("tables", () => {
  test("the migrations make exactly the tables, columns, keys and indexes of the schema", () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, "control.sqlite");
    ControlStore.open(path).close();
    const raw = new Database(path);
    const tables = Object.values(schema).filter((value) => is(value, SQLiteTable)) as unknown as SQLiteTable[];
    const names = raw.query("SELECT name FROM sqlite_master WHERE type = 'table'").all() as { name: string }[];
    expect(names.map(({ name }) => name).sort()).toEqual(tables.map(getTableName).sort());
    for (const table of tables) {
      const name = getTableName(table);
      const made = raw.query(`PRAGMA table_info(${name})`).all() as { name: string; type: string; notnull: number }[];
      const meant = Object.values(getTableColumns(table)).map((column) => [
        column.name,
        column.getSQLType().toUpperCase(),
        column.notNull ? 1 : 0,
      ]);
      expect([name, made.map((column) => [column.name, column.type, column.notnull])]).toEqual([name, meant]);
      const indexes = raw.query(`PRAGMA index_list(${name})`).all() as { name: string; origin: string }[];
      const ours = indexes.filter(({ origin }) => origin === "c").map((index) => index.name);
      const wanted = getTableConfig(table).indexes.map((index) => index.config.name);
      for (const index of wanted) expect(ours).toContain(index);
    }
    raw.close();
  });

  test("a store that a newer Atoll wrote is refused and left as it is", () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, "control.sqlite");
    ControlStore.open(path).close();
    const raw = new Database(path);
    raw.run("PRAGMA user_version = 999");
    raw.close();
    expect(() => ControlStore.open(path)).toThrow("newer version");
    const after = new Database(path);
    expect(after.query("PRAGMA user_version").get()).toEqual({ user_version: 999 });
    after.close();
  });
});

describe("ControlStore", () => {
  test("S2: a second opener is refused while the first one lives, and welcome after close", () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, "control.sqlite");
    const first = ControlStore.open(path);
    first.write(() => first.resources.put(RESOURCE));
    first.resources.list({ spaces: null, space: null, name: null, form: null, after: null, countMax: 1 });
    expect(() => ControlStore.open(path)).toThrow("another process");
    first.close();
    const second = ControlStore.open(path);
    expect(second.resources.get("r-1")).toEqual(RESOURCE);
    second.close();
  });

  test("S1: the store is in WAL mode", () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, "control.sqlite");
    ControlStore.open(path).close();
    const raw = new Database(path);
    expect(raw.query("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
    raw.close();
  });

  test("the files of the store are for their owner alone", () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, "control.sqlite");
    const store = ControlStore.open(path);
    store.write(() => store.resources.put(RESOURCE));
    for (const file of [path, `${path}-wal`]) expect(statSync(file).mode & 0o777).toBe(0o600);
    store.close();
  });

  test("S1: what throws leaves nothing behind, in the file or in the cache", () => {
    const store = memory();
    store.write(() => store.resources.put(RESOURCE));
    expect(() =>
      store.write(() => {
        store.resources.put({ ...RESOURCE, generation: 2 });
        store.resources.put({ ...RESOURCE, uid: uid("r-2"), name: "b" });
        store.operations.put(OPERATION);
        throw new Error("no");
      }),
    ).toThrow("no");
    expect(store.resources.get("r-1")?.generation).toBe(1);
    expect(store.resources.get("r-2")).toBeNull();
    expect(store.operations.get("op-1")).toBeNull();
    store.write(() => store.operations.put(OPERATION));
    store.close();
  });

  test("a transaction inside a transaction is a bug of ours", () => {
    const store = memory();
    expect(() => store.write(() => store.write(() => {}))).toThrow(InvariantViolation);
    store.write(() => {});
    store.close();
  });

  test("every field of a record comes back as it went in, from the cache and from the file", () => {
    const store = memory();
    const row: ResourceRow = { ...RESOURCE, backend: { n: [1.5] }, wakeAtMs: 5, observedAtMs: 7, phase: "error" };
    store.write(() => store.resources.put(row));
    expect(store.resources.get(row.uid)).toEqual(row);
    store.resources.forgetCached();
    expect(store.resources.get(row.uid)).toEqual(row);
    const operation: OperationRow = { ...OPERATION, status: "waiting_input", effect: "none", inputReason: "expired" };
    store.write(() => store.operations.put(operation));
    expect(store.operations.get(operation.id)).toEqual(operation);
    store.write(() => store.operations.put({ ...operation, inputNames: null, attempt: "dispatched" }));
    expect(store.operations.get(operation.id)).toMatchObject({ inputNames: null, attempt: "dispatched" });
    store.close();
  });

  test("HA-68: two Resources of one Space never have one name", () => {
    const store = memory();
    store.write(() => store.resources.put(RESOURCE));
    expect(() => store.write(() => store.resources.put({ ...RESOURCE, uid: uid("r-2") }))).toThrow();
    store.write(() => store.resources.put({ ...RESOURCE, uid: uid("r-2"), space: "other" as SpaceName }));
    expect(store.resources.byName("other" as SpaceName, "a")).toBe(uid("r-2"));
    store.close();
  });
});

describe("lists", () => {
  test("HA-83, HA-145: every combination of filters gives what a plain search gives, in order of UID", () => {
    const store = memory();
    const rows = ["a", "B", "c", "D", "e", "10", "9"].flatMap((name, i) =>
      ["s1", "s2", "s3"].map((space, j) => ({
        ...RESOURCE,
        uid: uid(`r-${"zyxabCD"[i]}${j}`),
        name,
        space: space as SpaceName,
        form: `https://form.example/${i % 2}` as FormUrl,
      })),
    );
    store.write(() => rows.forEach((row) => store.resources.put(row)));
    const filter = fc.record({
      spaces: fc.option(fc.subarray(["s1", "s2", "s3", "none"] as SpaceName[])),
      space: fc.option(fc.constantFrom("s1", "s2", "none")),
      name: fc.option(fc.constantFrom("a", "A", "B", "10")),
      form: fc.option(fc.constantFrom("https://form.example/0", "https://form.example/1")),
      after: fc.option(fc.constantFrom("r-", "r-a0", "r-y1", "r-zz")),
      countMax: fc.integer({ min: 1, max: 30 }),
    });
    const ordered = rows.toSorted((a, b) => (a.uid < b.uid ? -1 : 1));
    fc.assert(
      fc.property(filter, (given) => {
        const { spaces, space, name, form, after, countMax } = given;
        const wanted = ordered
          .filter((row) => spaces?.includes(row.space) ?? true)
          .filter((row) => space === null || row.space === space)
          .filter((row) => name === null || row.name === name)
          .filter((row) => form === null || row.form === form)
          .filter((row) => after === null || row.uid > after)
          .slice(0, countMax);
        expect(store.resources.list(given)).toEqual(wanted);
      }),
      { numRuns: 300 },
    );
    store.close();
  });
});

describe("references", () => {
  test("WD-A6: a referrer counts once, by its spec, an earlier spec or its bookkeeping", () => {
    const store = memory();
    const { resources } = store;
    const [a, b, c] = ["r-a", "r-b", "r-c"].map((id, i) => ({ ...RESOURCE, uid: uid(id), name: `n${i}` }));
    if (a === undefined || b === undefined || c === undefined) throw new Error("three");
    const names = (rows: readonly ResourceRow[]) => rows.map((row) => row.uid as string);
    store.write(() => {
      for (const row of [a, b, c]) resources.put(row);
      resources.setReferences(a.uid, "spec", [b.uid, b.uid]);
      resources.setReferences(a.uid, "active", [b.uid]);
    });
    expect(names(resources.referrersOf(b.uid))).toEqual(["r-a"]);
    store.write(() => {
      resources.retainReferences(a.uid);
      resources.retainReferences(a.uid);
      resources.setReferences(a.uid, "spec", [c.uid]);
      resources.setReferences(a.uid, "active", []);
    });
    expect(names(resources.referentsOf(a.uid))).toEqual(["r-b", "r-c"]);
    expect(names(resources.referrersOf(b.uid))).toEqual(["r-a"]);
    store.write(() => resources.setReferences(a.uid, "previous", []));
    expect(names(resources.referrersOf(b.uid))).toEqual([]);
    store.write(() => resources.remove(a, 5));
    expect(names(resources.referrersOf(c.uid))).toEqual([]);
    expect(resources.tombstone("r-a")).toEqual({ uid: a.uid, space: a.space, deletedAtMs: 5 });
    store.close();
  });
});

describe("retention", () => {
  test("HA-124: pruning forgets settled Operations in full and never an unfinished one", () => {
    const store = memory();
    const bytes = new Uint8Array([1]);
    const add = (id: string, more: Partial<OperationRow>) => {
      const operationId = id as OperationId;
      store.operations.put({ ...OPERATION, id: operationId, ...more });
      const key = `key-of-${id}`;
      store.operations.bindKey({ api: "v2", principal: OPERATION.principal, key, operationId, fingerprint: bytes });
      store.privateInputs.putComparison({ operationId, keyId: "k", mac: bytes });
      store.privateInputs.putTransfer({ operationId, keyId: "k", sealed: bytes, expiresAtMs: 1000 });
    };
    store.write(() => {
      add("op-old", { retainUntilMs: 99 });
      add("op-failed", { retainUntilMs: 50, status: "failed", effect: "none", errorCode: "c", errorMessage: "m" });
      add("op-kept", { retainUntilMs: 100 });
      add("op-open", { retainUntilMs: 1, status: "reconciling", effect: "unknown" });
    });
    expect(store.operations.overdueUnfinished(100).map(({ id }) => id as string)).toEqual(["op-open"]);
    expect(store.write(() => store.operations.prune(100, 10))).toBe(2);
    const left = ["op-old", "op-failed", "op-kept", "op-open"].map((id) => [
      store.operations.get(id) !== null,
      store.operations.byKey("v2", OPERATION.principal, `key-of-${id}`) !== null,
      store.privateInputs.comparison(id as OperationId) !== null,
      store.privateInputs.transfer(id as OperationId) !== null,
    ]);
    expect(left).toEqual([
      [false, false, false, false],
      [false, false, false, false],
      [true, true, true, true],
      [true, true, true, true],
    ]);
    store.close();
  });

  test("HA-128: one key string is one key for each version of the API and each principal", () => {
    const store = memory();
    const bind = (api: string, principal: string, id: string) =>
      store.operations.bindKey({
        api,
        principal: principal as PrincipalId,
        key: "the-key",
        operationId: id as OperationId,
        fingerprint: new Uint8Array([1]),
      });
    store.write(() => {
      bind("v2", "p", "op-1");
      bind("v3", "p", "op-2");
      bind("v2", "q", "op-3");
    });
    expect(() => store.write(() => bind("v2", "p", "op-4"))).toThrow();
    expect(store.operations.byKey("v2", "p" as PrincipalId, "the-key")?.operationId).toBe("op-1" as OperationId);
    store.close();
  });
});
