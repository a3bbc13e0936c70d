import { expect, test } from "bun:test";
import * as fc from "fast-check";
import type { ResourceUid } from "../../../../../base/ids.ts";
import { endpointHostname, isEndpointDomain } from "../../../../../control/forms/worker-endpoint/hostname.ts";

const uid = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/) as unknown as fc.Arbitrary<ResourceUid>;
const name = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/);
const LABEL = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;

test("WE-11, WE-12, WE-A8: every uid and name give a lowercase LDH name within the limits", () => {
  fc.assert(
    fc.property(uid, name, fc.constantFrom("atoll.localhost", "x", "a.b.example"), (id, text, domain) => {
      const hostname = endpointHostname(id, text, domain);
      expect(hostname.length).toBeLessThanOrEqual(253);
      expect(hostname).toEndWith(`.${domain}`);
      for (const label of hostname.split(".")) {
        expect(label).toMatch(LABEL);
        expect(label.length).toBeLessThanOrEqual(63);
        expect(label.slice(2, 4)).not.toBe("--");
      }
      expect(new URL(`https://${hostname}/`).href).toBe(`https://${hostname}/`);
    }),
  );
});

test("WE-14, WE-A6: the uid alone decides; another uid never gets the same name", () => {
  fc.assert(
    fc.property(uid, uid, name, (a, b, text) => {
      const [x, y] = [endpointHostname(a, text, "d"), endpointHostname(b, text, "d")];
      expect(x === y).toBe(a === b);
    }),
  );
});

test("a readable name keeps its readable part", () => {
  expect(endpointHostname("u" as ResourceUid, "My.Shop_2", "d.example")).toMatch(
    /^my-shop-2-[a-z2-7]{20}\.d\.example$/,
  );
  expect(endpointHostname("u" as ResourceUid, "xn--a", "d")).toMatch(/^xn-a-/);
});

test("WE-11: an endpoint domain is a lowercase DNS name that leaves room for the label", () => {
  for (const domain of ["localhost", "atoll.localhost", "a-b.example"]) expect(isEndpointDomain(domain)).toBe(true);
  const long = `${"a".repeat(63)}.${"b".repeat(63)}.${"c".repeat(63)}.d`;
  for (const domain of ["", ".", "a.", ".a", "A.example", "a_b", "-a", "a-", "a b", "é", "a/b", "a:1", long]) {
    expect([domain, isEndpointDomain(domain)]).toEqual([domain, false]);
  }
});
