// Statements that try to get out of the actor's own store, or to get at what the host keeps in it.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import * as fc from "fast-check";
import { countParameters, isBlank } from "../../../../storage/actor/private-sql/sql-text.ts";
import { temporaryDirectory } from "../../../support/temporary-directory.ts";
import { ActorRig, actor, failure, type OpenStore, times } from "./actor-rig.ts";

const directory = temporaryDirectory();
let rig: ActorRig;
let open: OpenStore;
let count = 0;

beforeAll(async () => {
  rig = await ActorRig.open(directory.path, 1, { durability: "relaxed" });
});
beforeEach(async () => {
  open = await rig.store(actor(`actor-${++count}`));
  open.execute("CREATE TABLE t (a, b)");
  open.execute("INSERT INTO t VALUES (1, 2)");
  open.store.host.setNextAlarm(77);
  open.store.host.putSocket({ id: "s", attachment: null });
});
afterAll(async () => {
  await rig.close();
  directory[Symbol.dispose]();
});

/** Refused in all three methods, without any effect. */
function expectRefused(sql: string): void {
  const sequence = rig.log.lastSequence;
  const said = [
    failure(() => open.execute(sql)),
    failure(() => open.query(sql)),
    failure(() => open.store.sql.transaction([{ sql: "INSERT INTO t VALUES (5, 5)" }, { sql }])),
  ];
  expect({ sql, said }).toEqual({ sql, said: ["invalid_sql", "invalid_sql", "invalid_sql"] });
  expect(rig.log.lastSequence).toBe(sequence);
  expect(open.query("SELECT * FROM t").rows).toEqual([{ a: 1, b: 2 }]);
  expect(open.store.host.nextAlarm()).toBe(77);
}

describe("AN-92: refused in execute, query and transaction", () => {
  const outside = join(directory.path, "outside.sqlite");
  const statements = {
    "other databases": [
      `ATTACH '${outside}' AS x`,
      "ATTACH ':memory:' AS x",
      "ATTACH 'file:x?mode=memory' AS main2",
      "DETACH main",
      `VACUUM INTO '${outside}'`,
      "VACUUM",
      "VACUUM main",
      "SELECT * FROM temp.sqlite_schema",
      "CREATE TABLE temp.x (a)",
    ],
    transactions: [
      "BEGIN",
      "BEGIN IMMEDIATE",
      "COMMIT",
      "END",
      "ROLLBACK",
      "SAVEPOINT s",
      "RELEASE s",
      "ROLLBACK TO s",
    ],
    pragmas: [
      "PRAGMA journal_mode = DELETE",
      "PRAGMA journal_mode",
      "PRAGMA synchronous = FULL",
      "PRAGMA writable_schema = ON",
      "PRAGMA foreign_keys = OFF",
      "PRAGMA max_page_count = 1000000000",
      "PRAGMA wal_checkpoint(TRUNCATE)",
      "PRAGMA user_version = 5",
      "PRAGMA locking_mode = NORMAL",
      "PRAGMA temp_store_directory = '/'",
      "PRAGMA table_info(t)",
      "/* x */ pragma\nuser_version",
      "EXPLAIN PRAGMA user_version",
      "SELECT * FROM pragma_user_version",
      "SELECT * FROM pragma_table_info('_atoll_alarm')",
      "SELECT * FROM pragma_database_list",
      "SELECT name FROM pragma_table_list",
      "SELECT a FROM t WHERE a IN (SELECT user_version FROM pragma_user_version)",
    ],
    "code and tables from outside": [
      "SELECT load_extension('libc.so.6')",
      "SELECT LOAD_EXTENSION('x', 'y')",
      "SELECT fts3_tokenizer('simple')",
      "CREATE VIRTUAL TABLE v USING fts5(a)",
      "CREATE VIRTUAL TABLE v USING rtree(id, a, b)",
      "CREATE VIRTUAL TABLE v USING dbstat",
      "SELECT * FROM dbstat",
      "SELECT * FROM fts3tokenize",
      "SELECT readfile('x')",
      "SELECT writefile('x', 'y')",
      "SELECT edit('x')",
    ],
    "temporary things": [
      "CREATE TEMP TABLE x (a)",
      "CREATE TEMPORARY TABLE x AS SELECT 1 AS a",
      "CREATE TEMP VIEW x AS SELECT 1",
      "CREATE TEMP TRIGGER x AFTER INSERT ON t BEGIN SELECT 1; END",
    ],
    "the schema table": [
      "SELECT * FROM sqlite_schema",
      "SELECT count(*) FROM sqlite_master",
      "SELECT 1 FROM main.sqlite_master LIMIT 0",
      "SELECT * FROM sqlite_temp_master",
      "SELECT rowid FROM sqlite_schema",
      "INSERT INTO sqlite_schema VALUES ('table', 'x', 'x', 2, 'CREATE TABLE x (a)')",
      "UPDATE sqlite_schema SET sql = 'x'",
      "DELETE FROM sqlite_schema",
      "DROP TABLE sqlite_schema",
      "CREATE TABLE copy AS SELECT * FROM sqlite_schema",
      "CREATE TABLE copy AS SELECT rowid AS r FROM sqlite_schema",
      "INSERT INTO t SELECT name, sql FROM sqlite_schema",
      "WITH s AS (SELECT name FROM sqlite_schema) UPDATE t SET a = (SELECT name FROM s)",
      "DELETE FROM t WHERE EXISTS (SELECT 1 FROM sqlite_schema)",
      "UPDATE sqlite_sequence SET seq = 1",
    ],
    "the host's tables": [
      "SELECT * FROM _atoll_alarm",
      "SELECT count(*) FROM _ATOLL_ALARM",
      'SELECT 1 FROM "_atoll_socket"',
      "SELECT * FROM main._atoll_alarm",
      "SELECT * FROM [_Atoll_Alarm] AS x",
      "SELECT a FROM t WHERE a IN _atoll_alarm",
      "INSERT INTO _atoll_alarm VALUES ('next', 1, 1)",
      "REPLACE INTO _atoll_alarm VALUES ('next', 1, 1)",
      "UPDATE _atoll_alarm SET at_ms = 0",
      "DELETE FROM _atoll_alarm",
      "DROP TABLE _atoll_alarm",
      "DROP TABLE IF EXISTS _atoll_alarm",
      "ALTER TABLE _atoll_alarm RENAME TO x",
      "ALTER TABLE _atoll_alarm ADD COLUMN x",
      "CREATE TABLE _atoll_mine (a)",
      "CREATE TABLE IF NOT EXISTS _Atoll_mine (a)",
      "CREATE VIEW _atoll_view AS SELECT 1",
      "CREATE INDEX _atoll_index ON t (a)",
      "CREATE INDEX i ON _atoll_alarm (at_ms)",
      "CREATE TRIGGER x AFTER UPDATE ON _atoll_alarm BEGIN SELECT 1; END",
      "CREATE TRIGGER _atoll_x AFTER UPDATE ON t BEGIN SELECT 1; END",
      "ALTER TABLE t RENAME TO _atoll_mine",
      'ALTER TABLE t RENAME TO "_ATOLL_mine"',
      "CREATE TABLE c (x REFERENCES _atoll_alarm (slot))",
      "CREATE TABLE c (x, FOREIGN KEY (x) REFERENCES _Atoll_alarm (nope) ON DELETE CASCADE)",
      "ALTER TABLE t ADD COLUMN x REFERENCES _atoll_alarm (slot)",
      "ANALYZE",
      "ANALYZE _atoll_alarm",
      "REINDEX",
      "EXPLAIN SELECT * FROM _atoll_alarm",
    ],
  };
  for (const [what, list] of Object.entries(statements)) {
    test(what, () => {
      for (const sql of list) expectRefused(sql);
      expect(existsSync(outside)).toBe(false);
    });
  }
});

describe("AN-92: decided when views, triggers and keys are used", () => {
  test("a view of the host's rows or of the schema cannot be read", () => {
    open.execute("CREATE VIEW spy AS SELECT * FROM _atoll_alarm");
    open.execute("CREATE VIEW map AS SELECT name FROM sqlite_schema");
    open.execute("CREATE VIEW spy2 AS SELECT * FROM spy");
    for (const sql of [
      "SELECT * FROM spy",
      "SELECT * FROM spy2",
      "SELECT * FROM map",
      "CREATE TABLE x AS SELECT * FROM map",
    ]) {
      expectRefused(sql);
    }
    open.execute("DROP VIEW spy");
  });

  test("a trigger that would reach the host's rows fails the statement that fires it, and changes nothing", () => {
    for (const body of [
      "DELETE FROM _atoll_alarm",
      "UPDATE _atoll_alarm SET at_ms = 1",
      "INSERT INTO _atoll_socket VALUES ('x', NULL)",
      "INSERT INTO t SELECT name, sql FROM sqlite_schema",
      "SELECT load_extension('x')",
      "SELECT * FROM pragma_table_list",
    ]) {
      open.execute(`CREATE TRIGGER tg AFTER INSERT ON t BEGIN ${body}; END`);
      expect(failure(() => open.execute("INSERT INTO t VALUES (3, 4)"))).toBe("invalid_sql");
      open.execute("DROP TRIGGER tg");
      expect(open.query("SELECT count(*) AS n FROM t").rows).toEqual([{ n: 1 }]);
    }
    expect(open.store.host.nextAlarm()).toBe(77);
    expect(open.store.host.sockets()).toHaveLength(1);
  });

  test("what a transaction creates is looked at before it counts", () => {
    const lists = [
      ["CREATE VIEW spy AS SELECT * FROM _atoll_alarm", "SELECT * FROM spy"],
      ["CREATE TABLE u (x)", "ALTER TABLE u RENAME TO _atoll_u"],
      ["CREATE TABLE u (x REFERENCES _atoll_alarm)"],
    ];
    for (const list of lists) {
      expect(failure(() => open.store.sql.transaction(list.map((sql) => ({ sql }))))).toBe("invalid_sql");
    }
    for (const name of ["spy", "u", "_atoll_u"])
      expect(failure(() => open.query(`SELECT * FROM ${name}`))).toBe("invalid_sql");
  });

  test("a statement that was harmless when it was kept is asked about again when a view changes under it", () => {
    open.execute("CREATE VIEW v AS SELECT a FROM t");
    expect(open.query("SELECT * FROM v").rows).toEqual([{ a: 1 }]);
    const swap = [{ sql: "DROP VIEW v" }, { sql: "CREATE VIEW v AS SELECT slot AS a FROM _atoll_alarm" }];
    expect(failure(() => open.store.sql.transaction([...swap, { sql: "SELECT * FROM v" }]))).toBe("invalid_sql");
    open.store.sql.transaction(swap);
    expect(failure(() => open.query("SELECT * FROM v"))).toBe("invalid_sql");
  });
});

test("AN-87, AN-92: forbidden words in literals, comments, names and triggers are no reason to refuse", () => {
  for (const sql of [
    "SELECT 'PRAGMA ATTACH VACUUM BEGIN COMMIT sqlite_schema _atoll_alarm' AS x",
    "SELECT 1 AS x /* ATTACH 'a' AS b; PRAGMA x */ -- COMMIT",
    'CREATE TABLE "attach" ("pragma" TEXT, [commit], `begin`)',
    'INSERT INTO "attach" ("pragma") VALUES (\'ROLLBACK\')',
    "CREATE TABLE pragma_notes (vacuum, atoll_, x_atoll_)",
    "SELECT vacuum FROM pragma_notes",
    "CREATE TABLE atoll_alarm (savepoint)",
    "CREATE TRIGGER release AFTER INSERT ON pragma_notes BEGIN UPDATE t SET b = 'COMMIT'; END",
    "INSERT INTO pragma_notes (vacuum) VALUES ('BEGIN; COMMIT;')",
  ]) {
    expect({ sql, said: failure(() => open.execute(sql)) }).toEqual({ sql, said: "nothing" });
  }
});

test("AN-87: CREATE, ALTER and DROP of one's own tables, indexes, views and triggers pass", () => {
  for (const sql of [
    "CREATE TABLE u (id INTEGER PRIMARY KEY AUTOINCREMENT, x TEXT UNIQUE, y TEXT AS (x || '!') STORED, CHECK (length(x) < 9)) STRICT",
    "INSERT INTO u (x) VALUES ('a')",
    "CREATE TABLE w (k PRIMARY KEY, u REFERENCES u (id) ON DELETE CASCADE) WITHOUT ROWID",
    "INSERT INTO w VALUES ('k', 1)",
    "CREATE UNIQUE INDEX i ON u (lower(x)) WHERE x IS NOT NULL",
    "CREATE VIEW v AS SELECT x FROM u",
    "CREATE TRIGGER tg INSTEAD OF INSERT ON v BEGIN INSERT INTO u (x) VALUES (new.x); END",
    "INSERT INTO v VALUES ('b')",
    "ALTER TABLE u ADD COLUMN z INTEGER DEFAULT 5",
    "ALTER TABLE u RENAME COLUMN z TO q",
    "ALTER TABLE u RENAME TO uu",
    "ALTER TABLE uu DROP COLUMN q",
    "ANALYZE uu",
    "ANALYZE uu",
    "REINDEX uu",
    "CREATE TABLE copy AS SELECT * FROM uu",
    "DELETE FROM uu WHERE id = 1",
    "DROP TRIGGER tg",
    "DROP VIEW v",
    "DROP INDEX i",
    "DROP TABLE w",
    "DROP TABLE uu",
  ]) {
    expect({ sql, said: failure(() => open.execute(sql)) }).toEqual({ sql, said: "nothing" });
  }
  expect(open.query("SELECT x, y FROM copy ORDER BY id").rows).toEqual([
    { x: "a", y: "a!" },
    { x: "b", y: "b!" },
  ]);
});

test("messages name neither paths nor the host's things", () => {
  for (const sql of [
    "SELECT * FROM _atoll_alarm",
    "ATTACH 'x' AS y",
    "SELECT * FROM sqlite_schema",
    "VACUUM INTO 'z'",
  ]) {
    try {
      open.execute(sql);
    } catch (error) {
      expect((error as Error).message).not.toContain(directory.path);
      expect((error as Error).message).not.toContain("alarm");
    }
  }
  expect(readdirSync(directory.path).sort()).toEqual(["actors", "log", "open"]);
});

test("placeholders and blanks are told as SQLite tells them, for any mixture of tokens", () => {
  const raw = new DatabaseSync(":memory:");
  raw.exec("CREATE TABLE a (a, é)");
  const tokens = [
    "?",
    "?1",
    "?7",
    "'",
    "''",
    "'?'",
    '"?"',
    "`?`",
    "[a]",
    "--?\n",
    "/*?*/",
    "/*",
    "*/",
    " ",
    "\n",
    ",",
    "+",
    "1",
    "a",
    "-",
    "/",
    "x'00'",
    "1e3",
    "é",
  ];
  let compiled = 0;
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...tokens), { maxLength: 10 }), (pieces) => {
      const sql = `SELECT ?, ${pieces.join("")}`;
      let statement: StatementSync;
      try {
        statement = raw.prepare(sql);
      } catch {
        return;
      }
      compiled++;
      // SQLite takes a missing value for NULL and refuses one too many.
      const takes = (many: number): boolean => failure(() => statement.all(...times(many, null))) === "nothing";
      const count = countParameters(sql);
      expect({ sql, takes: [takes(count), takes(count + 1)] }).toEqual({ sql, takes: [true, false] });
      expect(isBlank(sql.slice(statement.sourceSQL.length))).toBe(true);
    }),
    { numRuns: 20_000 },
  );
  expect(compiled).toBeGreaterThan(300);
  raw.close();
});
