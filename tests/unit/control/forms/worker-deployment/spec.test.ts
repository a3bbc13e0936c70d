import { expect, test } from "bun:test";
import * as fc from "fast-check";
import type { Json } from "../../../../../base/json.ts";
import { Refusal } from "../../../../../control/forms/form.ts";
import { parseWorkerDeployment } from "../../../../../control/forms/worker-deployment/spec.ts";

const worker = { resourceUid: "w" };
const weighted = (uid: string, weight: Json): Json => ({ workerVersion: { resourceUid: uid }, weight });
const parse = (versions: Json): unknown => parseWorkerDeployment({ worker, versions });
const refused = (versions: Json): void => {
  expect(() => parse(versions)).toThrow(Refusal);
};

test("WD-5: one to eight Versions, integer weights from 1 to 10000", () => {
  expect(() => parse([weighted("a", 10000)])).not.toThrow();
  expect(() => parse(Array.from({ length: 8 }, (_, i) => weighted(`v${i}`, 1250)))).not.toThrow();
  refused([]);
  refused(Array.from({ length: 10 }, (_, i) => weighted(`v${i}`, 1000)));
  for (const weight of [0, -1, 10001, 5000.5, "10000", null, true]) {
    refused([weighted("a", weight), weighted("b", 5000)]);
  }
  refused([weighted("a", 0), weighted("b", 10000)]);
});

test("WD-5, WD-6: the sum is exactly 10000, over different Versions", () => {
  for (const [a, b] of [
    [5000, 4999],
    [5000, 5001],
    [10000, 10000],
  ] as const) {
    refused([weighted("a", a), weighted("b", b)]);
  }
  refused([weighted("a", 5000), weighted("a", 5000)]);
});

test("WD-4, WD-7: both keys, both fields, nothing else, no null", () => {
  const versions = [weighted("a", 10000)];
  for (const spec of [
    { worker },
    { versions },
    { worker: null, versions },
    { worker, versions: null },
    { worker, versions, strategy: "x" },
  ]) {
    expect(() => parseWorkerDeployment(spec as Json)).toThrow(Refusal);
  }
  refused([{ workerVersion: { resourceUid: "a" } }]);
  refused([{ weight: 10000 }]);
  refused([{ workerVersion: { resourceUid: "a" }, weight: 10000, label: "x" }]);
  refused([null]);
});

test("WD-8, WD-9: the order of the versions means nothing", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,8}$/), { minLength: 2, maxLength: 8 }),
      (uids) => {
        const all = uids.map((uid, index) => weighted(uid, index === 0 ? 10000 - (uids.length - 1) : 1));
        expect(parse(all.toReversed())).toEqual(parse(all));
      },
    ),
  );
});
