import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { numberAsWritten } from "../../../../../base/exact-number.ts";
import type { Json, JsonObject } from "../../../../../base/json.ts";
import { Refusal } from "../../../../../control/forms/form.ts";
import { WORKER_VERSION } from "../../../../../control/forms/form-urls.ts";
import { sameJson } from "../../../../../control/forms/same-json.ts";
import { BINDING_FIELDS, BINDING_KINDS } from "../../../../../control/forms/worker-version/binding-kinds.ts";
import { faultOfVars, projectVars } from "../../../../../control/forms/worker-version/env-vars.ts";
import { parseWorkerVersion } from "../../../../../control/forms/worker-version/spec.ts";
import { FormWorld } from "../../../../support/forms/form-world.ts";

const base: JsonObject = { worker: { resourceUid: "w" }, bundle: { resourceUid: "b" }, handlers: ["fetch"] };
const assets: JsonObject = { bundle: { resourceUid: "a" }, runWorkerFirst: false, notFoundHandling: "none" };
const binding = (name: string, uid = "x"): JsonObject => ({ name, resource: { resourceUid: uid } });

const parse = (more: JsonObject): ReturnType<typeof parseWorkerVersion> => parseWorkerVersion({ ...base, ...more });
const without = (field: string, more: JsonObject = {}): JsonObject => {
  const { [field]: _, ...rest } = base;
  return { ...rest, ...more };
};
const messageOf = (spec: JsonObject): string => {
  try {
    parseWorkerVersion(spec);
  } catch (error) {
    if (error instanceof Refusal && error.code === "invalid_spec") return error.message;
    throw error;
  }
  return "accepted";
};
const message = (more: JsonObject): string => messageOf({ ...base, ...more });
const same = (a: JsonObject, b: JsonObject): boolean => {
  return sameJson(parse(a) as unknown as Json, parse(b) as unknown as Json);
};

test("WV-18 … WV-20: worker and handlers are mandatory, bundle unless there are only assets", () => {
  expect(messageOf(without("worker"))).toStartWith("spec.worker is missing");
  expect(messageOf(without("handlers"))).toStartWith("spec.handlers is missing");
  expect(messageOf(without("bundle"))).toBe("spec needs a bundle, or assets for a Version that only delivers files.");
  expect(messageOf(without("bundle", { assets }))).toBe("spec.handlers must be empty without spec.bundle.");
});

test("WV-20, WV-28: zero to three different handlers of the three", () => {
  for (const handlers of [[], ["queue"], ["queue", "scheduled", "fetch"]])
    expect(message({ handlers })).toBe("accepted");
  for (const handlers of [["fetch", "fetch"], ["alarm"], ["Fetch"], [null], "fetch", null]) {
    expect(message({ handlers: handlers as Json })).not.toBe("accepted");
  }
});

test("WV-5: a reference is the one-key object with a uid", () => {
  for (const worker of [
    {},
    { resourceUid: "" },
    { resourceUid: "a/b" },
    { resourceUid: 1 },
    "w",
    null,
    { resourceUid: "w", space: "s" },
  ]) {
    expect(message({ worker: worker as Json })).not.toBe("accepted");
  }
});

test("WV-25: null is not omission", () => {
  for (const field of ["bundle", "vars", "requiredSensitiveVars", "assets", ...BINDING_FIELDS]) {
    expect(message({ [field]: null })).toStartWith(`spec.${field} must be`);
  }
});

test("WV-22, WV-34: at most 64 different secret names in capitals", () => {
  const names = Array.from({ length: 64 }, (_, i) => `S${i}`);
  expect(message({ requiredSensitiveVars: names })).toBe("accepted");
  expect(message({ requiredSensitiveVars: [...names, "T"] })).toBe(
    "spec.requiredSensitiveVars must have at most 64 elements.",
  );
  expect(message({ requiredSensitiveVars: ["A".repeat(64)] })).toBe("accepted");
  for (const name of ["a", "_A", "1A", "A-B", "A".repeat(65), "", "Ä"]) {
    expect(message({ requiredSensitiveVars: [name] })).toStartWith("spec.requiredSensitiveVars[0] must be");
  }
  expect(message({ requiredSensitiveVars: ["A", "A"] })).toContain("more than once");
});

test("WV-23, WV-33: Bindings have exactly a name and a resource, at most 64 of a kind", () => {
  const many = (count: number): JsonObject[] => Array.from({ length: count }, (_, i) => binding(`B${i}`));
  expect(message({ serviceBindings: many(64) })).toBe("accepted");
  expect(message({ serviceBindings: many(65) })).toBe("spec.serviceBindings must have at most 64 elements.");
  for (const name of ["$", "_", "a1$", "__proto__", "constructor", "x".repeat(64)]) {
    expect(message({ serviceBindings: [binding(name)] })).toBe("accepted");
  }
  for (const name of ["", "1a", "a-b", "a.b", "é", "x".repeat(65)]) {
    expect(message({ serviceBindings: [binding(name)] })).toStartWith("spec.serviceBindings[0].name must be");
  }
  expect(message({ serviceBindings: [{ ...binding("A"), mode: "rw" }] })).toContain('unknown field "mode"');
  expect(message({ serviceBindings: [{ name: "A" }] })).toContain("spec.serviceBindings[0].resource is missing");
});

test("WV-35, MW-66: one env namespace for all kinds", () => {
  const taken = "spec declares the env name";
  expect(message({ vars: { A: 1 }, requiredSensitiveVars: ["A"] })).toStartWith(taken);
  expect(message({ vars: { A: 1 }, serviceBindings: [binding("A")] })).toStartWith(taken);
  expect(message({ requiredSensitiveVars: ["A"], serviceBindings: [binding("A")] })).toStartWith(taken);
  expect(message({ serviceBindings: [binding("A"), binding("A", "y")] })).toStartWith(taken);
  expect(message({ serviceBindings: [binding("A")], kvBindings: [binding("A")] })).toStartWith(taken);
  expect(message({ serviceBindings: [binding("__proto__")], vars: { constructor: 1 } })).toBe("accepted");
  expect(message({ vars: { a: 1 }, requiredSensitiveVars: ["A"] })).toBe("accepted");
});

test("WV-A11: one target under two names is legal", () => {
  expect(message({ serviceBindings: [binding("A"), binding("B")] })).toBe("accepted");
});

test("WV-21, WV-32, WV-37: at most 64 variables with names of the grammar", () => {
  const many = (count: number): JsonObject => Object.fromEntries(Array.from({ length: count }, (_, i) => [`v${i}`, i]));
  expect(message({ vars: many(64) })).toBe("accepted");
  expect(message({ vars: many(65) })).toBe("spec.vars must have at most 64 elements.");
  for (const key of ["a", "A.b-c_d9", "x".repeat(64)]) expect(message({ vars: { [key]: 1 } })).toBe("accepted");
  for (const key of ["", "1a", "_a", "-a", "a b", "é", "x".repeat(65)]) {
    expect(message({ vars: { [key]: 1 } })).toStartWith("spec.vars has the key");
    expect(message({ vars: { a: { [key]: 1 } } })).toStartWith("spec.vars.a has the key");
  }
});

test("WV-36: plain JSON values of every type", () => {
  expect(message({ vars: { a: 1.5, b: true, c: null, d: "é", e: [1, "x"], f: { g: [] } } })).toBe("accepted");
  expect(message({ vars: { a: numberAsWritten("9007199254740993") as unknown as Json } })).toBe("accepted");
  expect(message({ vars: numberAsWritten("9007199254740993") as unknown as Json })).toBe(
    "spec.vars must be an object.",
  );
  expect(message({ vars: { a: "\ud800" } })).toStartWith("spec.vars.a must be a string of Unicode");
});

test("WV-37, WV-A2: eight levels of containers, 64 elements each", () => {
  const nested = (depth: number): Json =>
    depth === 0 ? 1 : depth % 2 === 0 ? [nested(depth - 1)] : { k: nested(depth - 1) };
  expect(message({ vars: { a: nested(8) } })).toBe("accepted");
  expect(message({ vars: { a: nested(9) } })).toContain("must not nest deeper than 8 levels");
  expect(message({ vars: { a: Array.from({ length: 64 }, () => 0) } })).toBe("accepted");
  expect(message({ vars: { a: Array.from({ length: 65 }, () => 0) } })).toBe(
    "spec.vars.a must have at most 64 elements.",
  );
});

test("WV-37: 8192 Unicode scalar values, not UTF-16 units and not bytes", () => {
  expect(message({ vars: { a: "é".repeat(8192) } })).toBe("accepted");
  expect(message({ vars: { a: "😀".repeat(8192) } })).toBe("accepted");
  expect(message({ vars: { a: "😀".repeat(8193) } })).toBe("spec.vars.a must have at most 8192 characters.");
  expect(message({ vars: { a: "x".repeat(8193) } })).toBe("spec.vars.a must have at most 8192 characters.");
});

test("WV-39, WV-43: omission equals the explicit default, except for assets", () => {
  const explicit = { vars: {}, requiredSensitiveVars: [], ...Object.fromEntries(BINDING_FIELDS.map((it) => [it, []])) };
  expect(same({}, explicit)).toBe(true);
});

test("WV-40: handlers, secret names and Bindings are sets", () => {
  const a = {
    handlers: ["fetch", "queue"],
    requiredSensitiveVars: ["A", "B"],
    serviceBindings: [binding("X"), binding("Y")],
  };
  const b = {
    handlers: ["queue", "fetch"],
    requiredSensitiveVars: ["B", "A"],
    serviceBindings: [binding("Y"), binding("X")],
  };
  expect(same(a, b)).toBe(true);
  expect(same(a, { ...b, serviceBindings: [binding("Y", "other"), binding("X")] })).toBe(false);
  expect(same({ handlers: ["fetch"] }, { handlers: [] })).toBe(false);
});

test("WV-41, WV-42: inside vars, key order is nothing, array order and exact numbers are something", () => {
  expect(same({ vars: { a: { x: 1, y: 2 } } }, { vars: { a: { y: 2, x: 1.0 } } })).toBe(true);
  expect(same({ vars: { a: [1, 2] } }, { vars: { a: [2, 1] } })).toBe(false);
  expect(same({ vars: { a: "\u00e9" } }, { vars: { a: "e\u0301" } })).toBe(false);
  const exact = numberAsWritten("9007199254740993") as unknown as Json;
  expect(same({ vars: { a: exact } }, { vars: { a: 9007199254740992 } })).toBe(false);
});

test("WV-26, WV-27: without a bundle nothing that needs code is legal", () => {
  const files = without("bundle", { handlers: [], assets });
  expect(messageOf(files)).toBe("spec.assets: this Host does not support asset delivery yet.");
  expect(messageOf({ ...files, vars: { a: 1 } })).toBe("spec.vars must be empty without spec.bundle.");
  expect(messageOf({ ...files, requiredSensitiveVars: ["A"] })).toBe(
    "spec.requiredSensitiveVars must be empty without spec.bundle.",
  );
  for (const field of BINDING_FIELDS) {
    expect(messageOf({ ...files, [field]: [binding("A")] })).toBe(`spec.${field} must be empty without spec.bundle.`);
  }
});

test("WV-24, WV-30: assets have exactly three fields, and run the Worker first only with fetch", () => {
  for (const field of ["bundle", "runWorkerFirst", "notFoundHandling"]) {
    const { [field]: _, ...rest } = assets;
    expect(message({ assets: rest })).toStartWith(`spec.assets.${field}`);
  }
  expect(message({ assets: { ...assets, notFoundHandling: "404" } })).toContain("must be one of none, single_page");
  expect(message({ assets: { ...assets, runWorkerFirst: "yes" } })).toContain("must be a boolean");
  expect(message({ handlers: ["queue"], assets: { ...assets, runWorkerFirst: true } })).toContain("runWorkerFirst");
});

test("a kind of Binding that this Host lacks is refused by name, after its grammar", () => {
  for (const field of BINDING_FIELDS.filter((it) => it !== "serviceBindings")) {
    expect(message({ [field]: [binding("A")] })).toMatch(/this Host does not support .+ Bindings yet\.$/);
    expect(message({ [field]: [binding("1")] })).toContain("name must be");
    expect(message({ [field]: [] })).toBe("accepted");
  }
});

test("WV-36: what is accepted as vars survives a round trip, and a Worker sees doubles", () => {
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { depthSize: "small" },
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.string(),
      fc.boolean(),
      fc.constant(null),
      tie("list"),
      tie("map"),
    ),
    list: fc.array(tie("any"), { maxLength: 70 }),
    map: fc.dictionary(fc.string({ unit: fc.constantFrom("a", "B", "1", ".", " "), maxLength: 4 }), tie("any")),
  }));
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom("a", "b", "c", "1"), value.any as fc.Arbitrary<Json>), (vars) => {
      const fault = faultOfVars(vars);
      if (fault !== null) return;
      expect(sameJson(projectVars(vars), JSON.parse(JSON.stringify(vars)) as Json)).toBe(true);
    }),
  );
  const exact = numberAsWritten("9007199254740993") as unknown as Json;
  expect(projectVars({ a: [exact], b: { c: exact } })).toEqual({ a: [9007199254740992], b: { c: 9007199254740992 } });
});

test("WV-8, WV-9, WV-11 … WV-17: each reference has its exact Form, whether this Host offers it or not", () => {
  const edge = (name: string): string => `https://edge.forms.takoform.com/forms/${name}/`;
  const targets = Object.fromEntries(BINDING_FIELDS.map((field) => [field, String(BINDING_KINDS[field].target)]));
  expect(targets).toEqual({
    kvBindings: edge("EdgeKVNamespace/0.2.0"),
    sqliteBindings: edge("SQLiteDatabase/0.2.0"),
    bucketBindings: edge("ObjectBucket/0.2.0"),
    queueProducerBindings: edge("AtLeastOnceQueue/0.2.0"),
    serviceBindings: edge("ModuleWorker/0.3.0"),
    actorBindings: edge("ActorNamespace/0.3.0"),
    workflowBindings: edge("DurableWorkflow/0.3.0"),
  });
  const form = new FormWorld().form(WORKER_VERSION);
  const spec = form.parse({ ...base, serviceBindings: [binding("S", "s")] });
  expect(form.references(spec).map((it) => [it.uid, String(it.form)])).toEqual([
    ["w", edge("ModuleWorker/0.3.0")],
    ["b", edge("WorkerBundle/0.2.0")],
    ["s", edge("ModuleWorker/0.3.0")],
  ]);
});
