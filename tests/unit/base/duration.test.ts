import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { parseDuration } from "../../../base/duration.ts";

test("durations are read as people write them", () => {
  for (const [text, ms] of [
    ["0s", 0],
    ["250ms", 250],
    ["90s", 90_000],
    ["1.5h", 5_400_000],
    ["1d12h", 129_600_000],
    ["1h30m15s1ms", 5_415_001],
  ] as const) {
    expect([text, parseDuration(text)]).toEqual([text, ms]);
  }
});

test("anything else is none", () => {
  for (const text of ["", "5", "h", "-1s", "1 h", "1h ", "1w", ".5s", "1.s", "1e3s", "NaNs", "99999999999999999d"]) {
    expect([text, parseDuration(text)]).toEqual([text, null]);
  }
});

test("property: whole numbers of every unit come back exactly", () => {
  const unit = fc.constantFrom(["ms", 1], ["s", 1e3], ["m", 6e4], ["h", 36e5], ["d", 864e5] as const);
  fc.assert(
    fc.property(fc.nat(1_000_000), unit, (count, [name, ms]) => {
      expect(parseDuration(`${count}${name}`)).toBe(count * ms);
    }),
  );
});
