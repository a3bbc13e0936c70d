import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import * as fc from "fast-check";
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
});
afterAll(async () => {
  await rig.close();
  directory[Symbol.dispose]();
});

const base64 = (bytes: Uint8Array) => ({ encoding: "base64" as const, data: Buffer.from(bytes).toString("base64") });
const count_ = (table = "t"): unknown => open.query(`SELECT count(*) AS n FROM ${table}`).rows[0]?.["n"];

const value = fc.oneof(
  fc.constant(null),
  fc.maxSafeInteger(),
  fc.double({ min: -(2 ** 53 - 1), max: 2 ** 53 - 1, noNaN: true }),
  fc.string({ unit: "binary", maxLength: 200 }),
  fc.uint8Array({ maxLength: 200 }).map(base64),
);

describe("values", () => {
  test("AN-90, AN-91: every value of the domain comes back as it went in, stored or not", () => {
    open.execute("CREATE TABLE typed (i INTEGER, r REAL, x)");
    fc.assert(
      fc.property(value, (sent) => {
        const expected = Object.is(sent, -0) ? 0 : sent;
        expect(open.query("SELECT ?1 AS v", [sent]).rows).toEqual([{ v: expected }]);
        open.execute("DELETE FROM t");
        open.execute("INSERT INTO t (a) VALUES (?)", [sent]);
        expect(open.query("SELECT a FROM t").rows[0]?.["a"]).toEqual(expected);
        if (typeof sent === "number") {
          const { rows } = open.execute("INSERT INTO typed VALUES (?1, ?1, ?1) RETURNING i, r, x", [sent]);
          expect(rows).toEqual([{ i: expected, r: expected, x: expected }]);
        }
      }),
      { numRuns: 400 },
    );
  });

  test("AN-90: a whole number is an integer to SQLite, so that dividing and joining it give what one expects", () => {
    expect(open.query("SELECT ?1 / 2 AS half, 'n' || ?1 AS text, typeof(?2) AS t", [5, 0.5]).rows).toEqual([
      { half: 2, text: "n5", t: "real" },
    ]);
  });

  test("AN-94: a number outside the domain fails the whole call, as a parameter, an integer or a real", () => {
    for (const number of [2 ** 53, -(2 ** 53), 1e300, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(failure(() => open.execute("INSERT INTO t (a) VALUES (?)", [number]))).toBe("numeric_out_of_range");
    }
    for (const sql of ["9007199254740992", "-9007199254740992", "9223372036854775807", "9e999", "-9e999", "1e17"]) {
      expect(failure(() => open.query(`SELECT ${sql} AS v`))).toBe("numeric_out_of_range");
      expect(failure(() => open.execute(`INSERT INTO t (a) VALUES (${sql}) RETURNING a`))).toBe("numeric_out_of_range");
    }
    expect(count_()).toBe(0);
    // Stored beyond the range without being returned is SQLite's business; it is refused when it is selected.
    open.execute("INSERT INTO t (a) VALUES (9007199254740993)");
    expect(failure(() => open.query("SELECT a FROM t"))).toBe("numeric_out_of_range");
    expect(open.query("SELECT CAST(a AS TEXT) AS a FROM t").rows).toEqual([{ a: "9007199254740993" }]);
  });

  test("AN-90: what is no value is a TypeError, and nothing has run", () => {
    const bad = [
      undefined,
      true,
      1n,
      Symbol("x"),
      () => 1,
      [],
      {},
      new Uint8Array(1),
      new ArrayBuffer(1),
      new Date(0),
      "\ud800",
      { encoding: "base64" },
      { encoding: "base64", data: "AA==", more: 1 },
      { encoding: "hex", data: "00" },
      { encoding: "base64", data: 1 },
      ...["A", "AA", "AAA", "AB==", "AA=", " AA==", "AA==\n", "A-_A", "AAAA=="].map((data) => ({
        encoding: "base64",
        data,
      })),
    ];
    for (const one of bad) expect(failure(() => open.execute("INSERT INTO t (a) VALUES (?)", [one]))).toBe("TypeError");
    expect(failure(() => open.execute("INSERT INTO t (a) VALUES (?)", Array(1)))).toBe("TypeError");
    expect(count_()).toBe(0);
  });

  test("AN-90: strings of a million characters and a million bytes pass, one more does not, in and out", () => {
    const text = "😀".repeat(500_000) + "a".repeat(500_000);
    expect(open.query("SELECT length(?) AS n", [text]).rows).toEqual([{ n: 1_000_000 }]);
    expect(failure(() => open.query("SELECT length(?) AS n", [`${text}b`]))).toBe("invalid_sql");
    expect(open.query("SELECT ?1 AS v", ["x".repeat(1_000_000)]).rows[0]?.["v"]).toHaveLength(1_000_000);
    expect(failure(() => open.query("SELECT ?1 || 'b' AS v", ["x".repeat(1_000_000)]))).toBe("result_too_large");
    const bytes = new Uint8Array(1_000_000);
    expect(open.query("SELECT length(?) AS n", [base64(bytes)]).rows).toEqual([{ n: 1_000_000 }]);
    expect(failure(() => open.query("SELECT ?", [base64(new Uint8Array(1_000_001))]))).toBe("invalid_sql");
    expect(failure(() => open.query("SELECT zeroblob(1000001) AS v"))).toBe("result_too_large");
    expect(failure(() => open.query("SELECT length(zeroblob(900000000)) AS v"))).toBe("result_too_large");
  });
});

describe("statements", () => {
  test("AN-83: execute tells the rows and how many rows the statement itself wrote", () => {
    expect(open.execute("INSERT INTO t VALUES (1, 2), (3, 4)")).toEqual({ rows: [], rowsWritten: 2 });
    expect(open.execute("UPDATE t SET b = b + 1 RETURNING b")).toEqual({ rows: [{ b: 3 }, { b: 5 }], rowsWritten: 2 });
    expect(open.execute("UPDATE t SET b = 0 WHERE a = 99 RETURNING b")).toEqual({ rows: [], rowsWritten: 0 });
    expect(open.execute("SELECT a FROM t ORDER BY a")).toEqual({ rows: [{ a: 1 }, { a: 3 }], rowsWritten: 0 });
    open.execute("CREATE TABLE log (x)");
    open.execute("CREATE TRIGGER tg AFTER DELETE ON t BEGIN INSERT INTO log VALUES (1), (2); END");
    expect(open.execute("DELETE FROM t WHERE a = 1").rowsWritten).toBe(1);
    expect(count_("log")).toBe(2);
    for (const sql of ["DROP TABLE log", "CREATE TABLE log (x)", "REINDEX t", "EXPLAIN DELETE FROM t"]) {
      expect(open.execute(sql).rowsWritten).toBe(0);
    }
  });

  test("AN-84: query leaves nothing behind, whatever its statement does", () => {
    open.execute("INSERT INTO t VALUES (1, 1)");
    const image = (): unknown => open.query("SELECT * FROM t").rows;
    const before = image();
    const sequence = rig.log.lastSequence;
    expect(open.query("INSERT INTO t VALUES (2, 2) RETURNING a")).toEqual({ rows: [{ a: 2 }], rowsWritten: 0 });
    for (const sql of [
      "DELETE FROM t",
      "UPDATE t SET a = 5",
      "DROP TABLE t",
      "CREATE TABLE u (x)",
      "ALTER TABLE t RENAME TO u",
    ]) {
      expect(open.query(sql)).toEqual({ rows: [], rowsWritten: 0 });
      expect(image()).toEqual(before);
    }
    expect(failure(() => open.query("SELECT * FROM u"))).toBe("invalid_sql");
    expect(rig.log.lastSequence).toBe(sequence);
  });

  test("AN-84: a write in query that breaks a constraint says so", () => {
    open.execute("CREATE TABLE k (x PRIMARY KEY)");
    open.execute("INSERT INTO k VALUES (1)");
    expect(failure(() => open.query("INSERT INTO k VALUES (1)"))).toBe("constraint_violation");
  });

  test("AN-85, AN-86: a transaction is one unit: later statements see earlier ones, any failure undoes all", () => {
    const results = open.store.sql.transaction([
      { sql: "CREATE TABLE u (x PRIMARY KEY)" },
      { sql: "INSERT INTO u VALUES (?), (?)", params: [1, 2] },
      { sql: "SELECT count(*) AS n FROM u" },
    ]);
    expect(results).toEqual({
      results: [
        { rows: [], rowsWritten: 0 },
        { rows: [], rowsWritten: 2 },
        { rows: [{ n: 2 }], rowsWritten: 0 },
      ],
    });
    const failing: readonly (readonly [string, unknown])[] = [
      ["constraint_violation", { sql: "INSERT INTO u VALUES (3), (3)" }],
      ["invalid_sql", { sql: "SELECT * FROM nowhere" }],
      ["invalid_sql", { sql: "SELECT ?", params: [] }],
      ["invalid_sql", { sql: "COMMIT" }],
      ["numeric_out_of_range", { sql: "SELECT 9e999" }],
      ["TypeError", { sql: "SELECT 1", params: [true] }],
      ["TypeError", { sql: "SELECT 1", more: 1 }],
      ["TypeError", { sql: 1 }],
      ["TypeError", "SELECT 1"],
    ];
    for (const [name, statement] of failing) {
      const list = [{ sql: "DELETE FROM u" }, { sql: "CREATE TABLE gone (x)" }, statement];
      expect(failure(() => open.store.sql.transaction(list))).toBe(name);
      expect(count_("u")).toBe(2);
      expect(failure(() => open.query("SELECT * FROM gone"))).toBe("invalid_sql");
    }
    for (const list of [[], times(101, { sql: "SELECT 1" }), "x", undefined]) {
      expect(failure(() => open.store.sql.transaction(list))).toBe("TypeError");
    }
    expect(open.store.sql.transaction(times(100, { sql: "SELECT 1 AS x" })).results).toHaveLength(100);
  });

  test("AN-93: a constraint that is checked at the commit undoes all too", () => {
    open.execute("CREATE TABLE p (id PRIMARY KEY)");
    open.execute("CREATE TABLE c (p REFERENCES p (id) DEFERRABLE INITIALLY DEFERRED)");
    expect(failure(() => open.execute("INSERT INTO c VALUES (7)"))).toBe("constraint_violation");
    expect(count_("c")).toBe(0);
    open.store.sql.transaction([{ sql: "INSERT INTO c VALUES (7)" }, { sql: "INSERT INTO p VALUES (7)" }]);
    expect(count_("c")).toBe(1);
  });

  test("AN-88, AN-89: the limits of text and parameters", () => {
    const padded = (length: number): string => `SELECT 1 AS x --${"y".repeat(length - 16)}`;
    expect(open.query(padded(100_000)).rows).toEqual([{ x: 1 }]);
    expect(failure(() => open.query(padded(100_001)))).toBe("invalid_sql");
    expect(open.query(`SELECT '${"😀".repeat(90_000)}' AS x`).rows).toHaveLength(1);
    expect(failure(() => open.query(""))).toBe("invalid_sql");
    expect(failure(() => open.query("SELECT 1\0; DROP TABLE t"))).toBe("invalid_sql");
    expect(failure(() => open.query(1 as never))).toBe("TypeError");
    const marks = (many: number): string => `SELECT ${times(many, "?").join("+")} AS sum`;
    expect(open.query(marks(100), times(100, 1)).rows).toEqual([{ sum: 100 }]);
    expect(failure(() => open.query(marks(101), times(101, 1)))).toBe("TypeError");
    for (const params of [null, "x", { length: 0 }, 5])
      expect(failure(() => open.query("SELECT 1", params))).toBe("TypeError");
  });

  test("AN-83: placeholders are positional, and every value has its place", () => {
    expect(open.query("SELECT ?2 AS b, ?1 AS a, ? AS c", [1, 2, 3]).rows).toEqual([{ b: 2, a: 1, c: 3 }]);
    for (const [sql, params] of [
      ["SELECT ?", []],
      ["SELECT ?", [1, 2]],
      ["SELECT ?2", [1]],
      ["SELECT 1", [1]],
      ["SELECT :a", [1]],
      ["SELECT @a", [1]],
      ["SELECT $a", [1]],
      ["SELECT ?101", [1]],
    ] as const) {
      expect(failure(() => open.query(sql, params))).toBe("invalid_sql");
    }
    expect(open.query("SELECT '?' AS \"a?\", [b].b AS b /* ? */ FROM (SELECT ?1 AS b) AS [b] -- ?", [1]).rows).toEqual([
      { "a?": "?", b: 1 },
    ]);
  });

  test("AN-83: exactly one statement, with nothing but blanks and comments around it", () => {
    for (const sql of [
      "SELECT 1 AS x;",
      " \n SELECT 1 AS x ; -- end",
      "/* a; b */ SELECT 1 AS x /* ; */",
      "SELECT 1 AS x; /* open",
    ]) {
      expect(open.query(sql).rows).toEqual([{ x: 1 }]);
    }
    for (const sql of ["SELECT 1; SELECT 2", "SELECT 1;;", "SELECT 1; x", ";", " ", "-- only", "/* only"]) {
      expect(failure(() => open.execute(sql))).toBe("invalid_sql");
    }
    expect(failure(() => open.execute("INSERT INTO t VALUES (1, 1); DELETE FROM t"))).toBe("invalid_sql");
    expect(count_()).toBe(0);
    open.execute("CREATE TRIGGER tg AFTER INSERT ON t BEGIN UPDATE t SET b = 1; DELETE FROM t WHERE a = 'END;'; END;");
    expect(open.execute("INSERT INTO t VALUES (1, 0) RETURNING a").rows).toEqual([{ a: 1 }]);
  });

  test("AN-95: results are bounded in rows, columns, names and bytes, and a refused one has no effect", () => {
    const numbers = (many: number): string =>
      `WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < ${many}) SELECT i FROM c`;
    expect(open.query(numbers(10_000)).rows).toHaveLength(10_000);
    expect(failure(() => open.query(numbers(10_001)))).toBe("result_too_large");
    // One that never ends is cut as well, as long as it gives rows.
    expect(
      failure(() => open.query("WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) SELECT i FROM c")),
    ).toBe("result_too_large");
    expect(failure(() => open.execute(`INSERT INTO t (a) ${numbers(10_001)} RETURNING a`))).toBe("result_too_large");
    expect(count_()).toBe(0);
    expect(open.execute(`INSERT INTO t (a) ${numbers(20_000)}`).rowsWritten).toBe(20_000);

    const columns = (many: number): string => `SELECT ${Array.from({ length: many }, (_, i) => `1 AS c${i}`).join()}`;
    expect(Object.keys(open.query(columns(100)).rows[0] ?? {})).toHaveLength(100);
    expect(failure(() => open.query(columns(101)))).toBe("result_too_large");
    expect(failure(() => open.query(`SELECT 1 AS "${"ä".repeat(65)}"`))).toBe("result_too_large");
    expect(open.query(`SELECT 1 AS "${"ä".repeat(64)}"`).rows).toHaveLength(1);
    expect(failure(() => open.query("SELECT 1 AS a, 2 AS a"))).toBe("invalid_sql");
    expect(Object.keys(open.query('SELECT 1 AS "__proto__"').rows[0] ?? {})).toEqual(["__proto__"]);

    const million = "x".repeat(1_000_000);
    expect(failure(() => open.query("SELECT ?1 AS a, ?1 AS b", [million]))).toBe("result_too_large");
    // {"a":"…","b":"…"} has 15 bytes around the two strings.
    const [a, b] = [million, "x".repeat(999_985)];
    expect(open.query("SELECT ?1 AS a, ?2 AS b", [a, b]).rows).toHaveLength(1);
    expect(failure(() => open.query("SELECT ?1 AS a, ?2 AS b", [a, `${b}x`]))).toBe("result_too_large");
    const row = { sql: "SELECT ?1 AS a", params: [million] };
    expect(open.store.sql.transaction(times(8, row)).results).toHaveLength(8);
    expect(failure(() => open.store.sql.transaction(times(9, row)))).toBe("result_too_large");
    // A bound that is too careful must not refuse what fits: these quotes take two bytes each, not six.
    const quotes = { sql: "SELECT ?1 AS a", params: ['"'.repeat(500_000)] };
    expect(open.store.sql.transaction(times(8, quotes)).results).toHaveLength(8);
  });

  test("a statement that is kept sees changes of the schema, in names of columns too", () => {
    expect(open.execute("INSERT INTO t VALUES (1, 2)").rowsWritten).toBe(1);
    expect(open.query("SELECT * FROM t").rows).toEqual([{ a: 1, b: 2 }]);
    open.execute("ALTER TABLE t ADD COLUMN c DEFAULT 3");
    expect(open.query("SELECT * FROM t").rows).toEqual([{ a: 1, b: 2, c: 3 }]);
    open.execute("ALTER TABLE t RENAME COLUMN a TO z");
    expect(open.query("SELECT * FROM t").rows).toEqual([{ z: 1, b: 2, c: 3 }]);
    for (let i = 0; i < 200; i++) expect(open.query(`SELECT ${i} AS x`).rows).toEqual([{ x: i }]);
  });
});
