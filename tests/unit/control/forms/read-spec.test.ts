import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { z } from "zod";
import { numberAsWritten } from "../../../../base/exact-number.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../../base/json.ts";
import { Refusal } from "../../../../control/forms/form.ts";
import { parseModuleWorker } from "../../../../control/forms/module-worker/spec.ts";
import { echo, readSpec, reference } from "../../../../control/forms/read-spec.ts";
import { sameJson } from "../../../../control/forms/same-json.ts";
import { parseWorkerBundle } from "../../../../control/forms/worker-bundle/spec.ts";
import { parseWorkerDeployment } from "../../../../control/forms/worker-deployment/spec.ts";
import { parseWorkerEndpoint } from "../../../../control/forms/worker-endpoint/spec.ts";
import { parseWorkerVersion } from "../../../../control/forms/worker-version/spec.ts";

const json = fc.jsonValue() as fc.Arbitrary<Json>;

function messageOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
  throw new Error("expected a refusal");
}

test("a refusal names the field and says what to change", () => {
  const schema = z.strictObject({ worker: reference, list: z.array(z.int().max(3)).max(2).optional() });
  const message = (spec: Json): string => messageOf(() => readSpec(schema, spec));
  expect(message({ worker: { resourceUid: "a" }, extra: 1 })).toBe('spec has the unknown field "extra"; remove it.');
  expect(message({})).toBe("spec.worker is missing; it must be an object.");
  expect(message({ worker: null })).toBe("spec.worker must be an object.");
  expect(message({ worker: { resourceUid: "a" }, list: [1, 2, 3] })).toBe("spec.list must have at most 2 elements.");
  expect(message({ worker: { resourceUid: "a" }, list: [4] })).toBe("spec.list[0] must be at most 3.");
  expect(message({ worker: { resourceUid: "a" }, list: [1.5] })).toBe("spec.list[0] must be an integer.");
  expect(message({ worker: { resourceUid: "/" } })).toStartWith("spec.worker.resourceUid must be a Resource uid");
});

test("a refusal cuts what it repeats and repeats no value", () => {
  expect(echo("x".repeat(1000)).length).toBeLessThan(70);
  const message = messageOf(() => parseWorkerBundle({ artifact: { url: "https://u:secret@h/", sha256: "secret" } }));
  expect(message).not.toContain("secret");
});

test("MW-3, WB-11, WV-25, WD-7, WE-3: no parser accepts or chokes on foreign JSON", () => {
  const parsers = [
    parseModuleWorker,
    parseWorkerBundle,
    parseWorkerVersion,
    parseWorkerDeployment,
    parseWorkerEndpoint,
  ] as const;
  fc.assert(
    fc.property(fc.constantFrom(...parsers), json, (parse, value) => {
      if (parse === parseModuleWorker && sameJson(value, {})) return;
      expect(() => parse(value)).toThrow(Refusal);
    }),
  );
});

test("MW-3, WB-11, WV-25, WD-7, WE-3: an unknown field is refused at every depth of a legal spec", () => {
  const legal: readonly (readonly [(spec: Json) => unknown, JsonObject])[] = [
    [parseModuleWorker, {}],
    [parseWorkerBundle, { artifact: { url: "https://h/m", sha256: "0".repeat(64) } }],
    [parseWorkerEndpoint, { worker: { resourceUid: "w" } }],
    [
      parseWorkerDeployment,
      { worker: { resourceUid: "w" }, versions: [{ workerVersion: { resourceUid: "v" }, weight: 10000 }] },
    ],
    [
      parseWorkerVersion,
      {
        worker: { resourceUid: "w" },
        bundle: { resourceUid: "b" },
        handlers: ["fetch"],
        serviceBindings: [{ name: "S", resource: { resourceUid: "x" } }],
      },
    ],
  ];
  for (const [parse, spec] of legal) {
    expect(() => parse(spec)).not.toThrow();
    for (const variant of withExtraField(spec)) expect(() => parse(variant)).toThrow(Refusal);
  }
});

test("WV-41, WV-42: key order means nothing, array order and Unicode form do, numbers compare by value", () => {
  expect(sameJson({ a: 1, b: [1, 2] }, { b: [1, 2], a: 1.0 })).toBe(true);
  expect(sameJson([1, 2], [2, 1])).toBe(false);
  expect(sameJson("\u00e9", "e\u0301")).toBe(false);
  expect(sameJson(0, -0)).toBe(true);
  expect(sameJson(1e21, numberAsWritten("1000000000000000000000") as unknown as Json)).toBe(true);
  const [a, b] = [numberAsWritten("9007199254740993"), numberAsWritten("9007199254740993.0")] as unknown as [
    Json,
    Json,
  ];
  expect(sameJson(a, b)).toBe(true);
  expect(sameJson(a, 9007199254740992)).toBe(false);
  expect(sameJson({ a: undefined as unknown as Json }, { b: 1 })).toBe(false);
});

test("WV-41: equality is reflexive, and survives shuffled keys", () => {
  fc.assert(
    fc.property(json, (value) => {
      expect(sameJson(value, reversed(value))).toBe(true);
    }),
  );
});

test("WV-42: different values are never equal", () => {
  fc.assert(
    fc.property(json, json, (a, b) => {
      expect(sameJson(a, b)).toBe(textOf(a) === textOf(b));
    }),
  );
});

/** The value with one unknown field in one of its objects, for each of them. */
function withExtraField(value: Json): Json[] {
  if (Array.isArray(value)) {
    const items = value as readonly Json[];
    return items.flatMap((item, index) => withExtraField(item).map((variant) => items.with(index, variant)));
  }
  if (!isJsonObject(value)) return [];
  const text = JSON.stringify(value);
  const proto = JSON.parse(`{"__proto__":1${text === "{}" ? "" : ","}${text.slice(1)}`) as Json;
  const inner = Object.entries(value).flatMap(([key, item]) =>
    withExtraField(item).map((variant): Json => ({ ...value, [key]: variant })),
  );
  return [{ ...value, surplus: true }, proto, ...inner];
}

function reversed(value: Json): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map(reversed);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, item]) => [key, reversed(item)] as const)
      .reverse(),
  );
}

/** A text that is the same for equal values only. */
function textOf(value: Json): string {
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map(textOf).join()}]`;
  if (!isJsonObject(value)) return Object.is(value, -0) ? "0" : JSON.stringify(value);
  const members = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}:${textOf(item)}`);
  return `{${members.sort().join()}}`;
}
