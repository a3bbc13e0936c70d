import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { type Address, parseAddress } from "../../../../runtime/egress/address.ts";
import { EgressPolicy } from "../../../../runtime/egress/egress-policy.ts";

const at = (text: string): Address => {
  const address = parseAddress(text);
  if (address === null) throw new Error(`${text} is no address`);
  return address;
};
const admits = (allow: string[], url: string, address: string): boolean =>
  new EgressPolicy(allow).admits(new URL(url), at(address));

describe("MW-69 WB-25 WB-28: what a policy admits", () => {
  test("without entries: public addresses under any name, and nothing else", () => {
    expect(admits([], "https://example.com/", "93.184.215.14")).toBe(true);
    expect(admits([], "https://example.com/", "10.0.0.1")).toBe(false);
    expect(admits([], "http://127.0.0.1/", "127.0.0.1")).toBe(false);
  });

  test("an origin entry admits exactly that scheme, host and port", () => {
    const allow = ["https://registry.internal:8443"];
    expect(admits(allow, "https://registry.internal:8443/a/b", "10.0.0.1")).toBe(true);
    expect(admits(allow, "https://REGISTRY.internal:8443/", "10.0.0.1")).toBe(true);
    expect(admits(allow, "http://registry.internal:8443/", "10.0.0.1")).toBe(false);
    expect(admits(allow, "https://registry.internal/", "10.0.0.1")).toBe(false);
    expect(admits(allow, "https://x.registry.internal:8443/", "10.0.0.1")).toBe(false);
    expect(admits(allow, "https://registry.internal.evil.com:8443/", "10.0.0.1")).toBe(false);
    expect(admits(["https://a.internal/"], "https://a.internal:443/x", "10.0.0.1")).toBe(true);
  });

  test("a host entry admits any scheme, and any port unless it names one", () => {
    expect(admits(["db.internal"], "http://db.internal:9/", "10.0.0.1")).toBe(true);
    expect(admits(["DB.internal"], "http://db.internal/", "10.0.0.1")).toBe(true);
    expect(admits(["db.internal:81"], "http://db.internal:81/", "10.0.0.1")).toBe(true);
    expect(admits(["db.internal:81"], "http://db.internal/", "10.0.0.1")).toBe(false);
    expect(admits(["127.0.0.1:81"], "http://127.0.0.1:81/", "127.0.0.1")).toBe(true);
    expect(admits(["[::1]:81"], "http://[::1]:81/", "::1")).toBe(true);
    expect(admits(["127.0.0.1:81"], "http://rebound.test:81/", "127.0.0.1")).toBe(false);
    expect(admits(["localhost:443"], "https://localhost/", "127.0.0.1")).toBe(true);
  });

  test("a wildcard admits names below the domain, and not the domain", () => {
    expect(admits(["*.svc.internal"], "http://a.svc.internal/", "10.0.0.1")).toBe(true);
    expect(admits(["*.svc.internal"], "http://a.b.svc.internal/", "10.0.0.1")).toBe(true);
    expect(admits(["*.svc.internal"], "http://svc.internal/", "10.0.0.1")).toBe(false);
    expect(admits(["*.svc.internal"], "http://evilsvc.internal/", "10.0.0.1")).toBe(false);
  });

  test("an address or network admits by the address alone, in every spelling", () => {
    expect(admits(["10.1.0.0/16"], "http://any.test/", "10.1.255.255")).toBe(true);
    expect(admits(["10.1.0.0/16"], "http://any.test/", "10.2.0.0")).toBe(false);
    expect(admits(["10.1.0.0/16"], "http://any.test/", "::ffff:10.1.2.3")).toBe(true);
    expect(admits(["10.1.2.3"], "http://any.test/", "10.1.2.3")).toBe(true);
    expect(admits(["10.1.2.3"], "http://any.test/", "10.1.2.4")).toBe(false);
    expect(admits(["fd00::/8"], "http://any.test/", "fd12::1")).toBe(true);
    expect(admits(["0.0.0.0/0"], "http://any.test/", "fd12::1")).toBe(false);
    expect(admits(["::1"], "http://any.test/", "0:0:0:0:0:0:0:1")).toBe(true);
  });

  test("E3: a metadata service needs its address spelt out", () => {
    const metadata = "169.254.169.254";
    expect(admits(["0.0.0.0/0"], "http://any.test/", metadata)).toBe(false);
    expect(admits(["169.254.0.0/16"], `http://${metadata}/`, metadata)).toBe(false);
    expect(admits(["any.test", "http://any.test"], "http://any.test/", metadata)).toBe(false);
    expect(admits([metadata], "http://any.test/", metadata)).toBe(true);
    expect(admits([`http://${metadata}`], `http://${metadata}/latest`, metadata)).toBe(true);
    expect(admits([`http://${metadata}`], "http://any.test/", metadata)).toBe(false);
  });

  test("a network admits exactly the addresses that share its prefix", () => {
    const ipv4 = fc.nat({ max: 2 ** 32 - 1 });
    const dotted = (value: number): string => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join(".");
    fc.assert(
      fc.property(ipv4, fc.integer({ min: 0, max: 32 }), ipv4, (base, bits, noise) => {
        const mask = bits === 0 ? 0 : (-1 << (32 - bits)) >>> 0;
        const inside = at(dotted(((base & mask) | (noise & ~mask)) >>> 0));
        const policy = new EgressPolicy([`${dotted(base)}/${bits}`]);
        const url = new URL("http://any.test/");
        const open = new EgressPolicy().admits(url, inside);
        if (inside.toString() !== "168.63.129.16")
          expect(policy.admits(url, inside) || inside.range() === "linkLocal").toBe(true);
        const outside = at(dotted(((base & mask) ^ (bits === 0 ? 0 : 1 << (32 - bits))) >>> 0));
        if (bits > 0) expect(policy.admits(url, outside)).toBe(new EgressPolicy().admits(url, outside));
        expect(open).toBe(inside.range() === "unicast" && inside.toString() !== "168.63.129.16");
      }),
    );
  });
});

test("ports that the Fetch standard blocks need an entry that names the host", () => {
  expect(new EgressPolicy().admitsPort(new URL("http://example.com:25/"))).toBe(false);
  expect(new EgressPolicy().admitsPort(new URL("http://example.com:8080/"))).toBe(true);
  expect(new EgressPolicy().admitsPort(new URL("https://example.com/"))).toBe(true);
  expect(new EgressPolicy(["10.0.0.0/8"]).admitsPort(new URL("http://10.0.0.1:6000/"))).toBe(false);
  expect(new EgressPolicy(["http://x.internal:6000"]).admitsPort(new URL("http://x.internal:6000/"))).toBe(true);
});

test.each([
  "",
  " ",
  "http://",
  "ftp://a.test",
  "https://a.test/path",
  "https://a.test?x",
  "https://u@a.test",
  "https://a.test#f",
  "10.0.0.0/33",
  "10.0.0.0/",
  "10.0.0.0/8/8",
  "10.0.0/8",
  "::1/129",
  "::ffff:10.0.0.0/104",
  "a.test/x",
  "a.test:99999",
  "a b",
  "a.test:",
  "*.10.0.0.1",
  "*",
  "fe80::1%eth0",
])("the malformed entry %p is refused and quoted", (entry) => {
  expect(() => new EgressPolicy([entry])).toThrow(JSON.stringify(entry));
});
