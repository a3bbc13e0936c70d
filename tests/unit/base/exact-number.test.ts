import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { numberAsWritten, isExactNumber, parseWrittenJson } from "../../../base/exact-number.ts";
import type { FormUrl, OperationId, PrincipalId, ResourceUid, SpaceName } from "../../../base/ids.ts";
import { isJsonObject, type JsonObject } from "../../../base/json.ts";
import { canonicalNumber, parseStrictJson, readStrictJson } from "../../../base/strict-json.ts";
import { ControlStore } from "../../../storage/control/control-store.ts";
import type { ResourceRow } from "../../../storage/control/records.ts";

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

/** JSON numbers of every length and magnitude below the double range. */
const number = fc
  .tuple(
    fc.constantFrom("", "-"),
    fc.stringMatching(/^(0|[1-9][0-9]{0,24})$/),
    fc.stringMatching(/^[0-9]{0,24}$/),
    fc.option(fc.integer({ min: -400, max: 250 })),
  )
  .map(([sign, whole, fraction, power]) => {
    return `${sign}${whole}${fraction === "" ? "" : `.${fraction}`}${power === null ? "" : `e${power}`}`;
  });

test("HA-116, WV-42: no number changes its mathematical value between the request and the answer", () => {
  fc.assert(
    fc.property(fc.array(number, { maxLength: 5 }), (texts) => {
      const text = `{"n":[${texts.join()}]}`;
      const written = JSON.stringify(parseStrictJson(encode(text)));
      expect(readStrictJson(encode(written)).canonical()).toBe(readStrictJson(encode(text)).canonical());
      expect(JSON.stringify(parseWrittenJson(written))).toBe(written);
    }),
    { numRuns: 500 },
  );
});

test("HA-116: a number that a double stands for is an ordinary number", () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      const read = parseStrictJson(encode(`[${JSON.stringify(value)}]`));
      expect(read).toEqual([value === 0 ? Number(JSON.stringify(value)) : value]);
    }),
  );
  expect(parseStrictJson(encode("[1.0, 1e2, 0.10, 12345678901234560e-1]"))).toEqual([1, 100, 0.1, 1234567890123456]);
});

test("WV-42: an exact number is no object, and no object passes for one", () => {
  const exact = numberAsWritten("9007199254740993");
  expect(isExactNumber(exact)).toBe(true);
  expect(isJsonObject(exact)).toBe(false);
  const forged = parseStrictJson(encode('{"rawJSON":"9007199254740993"}'));
  expect(isExactNumber(forged)).toBe(false);
  expect(isExactNumber(Object.freeze(Object.assign(Object.create(null), { rawJSON: "1" })))).toBe(false);
  expect(canonicalNumber(exact.rawJSON)).toBe("9007199254740993e0");
});

test("WV-42: the digits of a spec survive the store", () => {
  const spec = parseStrictJson(encode('{"a":9007199254740993,"b":[0.10,1e-400],"c":{"rawJSON":"1"}}')) as JsonObject;
  const store = ControlStore.open(":memory:");
  store.write(() => store.resources.put({ ...ROW, spec }));
  store.resources.forgetCached();
  const read = store.resources.get(ROW.uid)?.spec;
  store.close();
  expect(JSON.stringify(read)).toBe('{"a":9007199254740993,"b":[0.1,1e-400],"c":{"rawJSON":"1"}}');
  expect(isExactNumber(read?.["a"])).toBe(true);
  expect(isExactNumber(read?.["c"])).toBe(false);
});

const ROW: ResourceRow = {
  uid: "r-1" as ResourceUid,
  form: "https://form.example/" as FormUrl,
  space: "default" as SpaceName,
  name: "a",
  owner: "p" as PrincipalId,
  generation: 1,
  observedGeneration: 0,
  observedAtMs: null,
  phase: "pending",
  spec: {},
  observed: {},
  output: {},
  lastOperation: "o-1" as OperationId,
  backend: null,
  wakeAtMs: null,
};
