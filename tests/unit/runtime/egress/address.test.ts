import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { isMetadata, isPublic, parseAddress } from "../../../../runtime/egress/address.ts";

// The special-purpose registries, written down once more: [base, prefix length].
const SPECIAL_IPV4: [string, number][] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
];

const toNumber = (dotted: string): number => dotted.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
const toDotted = (value: number): string => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join(".");
const toHextets = (value: number): string => `${(value >>> 16).toString(16)}:${(value & 0xffff).toString(16)}`;

const isSpecial = (value: number): boolean =>
  value === toNumber("168.63.129.16") ||
  SPECIAL_IPV4.some(([base, bits]) => Math.floor(value / 2 ** (32 - bits)) === toNumber(base) / 2 ** (32 - bits));

// Uniform draws would hardly ever meet a /24, so half of them come from the special ranges and their rims.
const specialOrRim = fc
  .tuple(fc.constantFrom(...SPECIAL_IPV4), fc.double({ min: 0, max: 1, noNaN: true }), fc.constantFrom(-1, 0, 1))
  .map(([[base, bits], at, rim]) => {
    const size = 2 ** (32 - bits);
    const value = toNumber(base) + (rim === 0 ? Math.floor(at * (size - 1)) : rim < 0 ? -1 : size);
    return Math.min(Math.max(value, 0), 2 ** 32 - 1);
  });
const ipv4 = fc.oneof(specialOrRim, fc.nat({ max: 2 ** 32 - 1 }));
const publicText = (text: string): boolean => {
  const address = parseAddress(text);
  return address !== null && isPublic(address);
};

describe("WB-28: which addresses are public", () => {
  test("an IPv4 address is public exactly when no special range has it", () => {
    fc.assert(
      fc.property(ipv4, (value) => {
        // The anycast services of RFC 7450 and RFC 7534 are special too, but no rim of the ranges above.
        fc.pre(!/^(192\.52\.193|192\.175\.48|192\.31\.196)\./.test(toDotted(value)));
        expect(publicText(toDotted(value))).toBe(!isSpecial(value));
      }),
      { numRuns: 2000 },
    );
  });

  test("an IPv6 form that leads to an IPv4 address is judged by that address", () => {
    fc.assert(
      fc.property(ipv4, (value) => {
        const plain = publicText(toDotted(value));
        expect(publicText(`::ffff:${toDotted(value)}`)).toBe(plain);
        expect(publicText(`0:0:0:0:0:FFFF:${toHextets(value)}`)).toBe(plain);
        expect(publicText(`64:ff9b::${toHextets(value)}`)).toBe(plain);
        expect(publicText(`2002:${toHextets(value)}::1`)).toBe(plain);
        // Never public, whatever is inside: compatible, translated, local NAT64 and Teredo addresses.
        expect(publicText(`::${toHextets(value)}`)).toBe(false);
        expect(publicText(`::ffff:0:${toHextets(value)}`)).toBe(false);
        expect(publicText(`64:ff9b:1::${toHextets(value)}`)).toBe(false);
        expect(publicText(`2001:0:${toHextets(value)}::1`)).toBe(false);
      }),
      { numRuns: 1000 },
    );
  });

  test("outside of 2000::/3 nothing but NAT64 is public", () => {
    const hextet = fc.nat({ max: 0xffff });
    fc.assert(
      fc.property(fc.array(hextet, { minLength: 8, maxLength: 8 }), (hextets) => {
        const first = hextets[0] as number;
        fc.pre(first >>> 13 !== 1 && first !== 0x64 && first !== 0);
        expect(publicText(hextets.map((each) => each.toString(16)).join(":"))).toBe(false);
      }),
    );
  });

  test.each([
    "1.1.1.1",
    "8.8.8.8",
    "93.184.215.14",
    "2606:4700:4700::1111",
    "2a00:1450:4001:81b::200e",
    "64:ff9b::808:808",
  ])("%s is public", (text) => expect(publicText(text)).toBe(true));

  test.each([
    "::",
    "::1",
    "fe80::1",
    "fec0::1",
    "fc00::1",
    "fd12:3456::1",
    "ff02::1",
    "100::1",
    "2001:db8::1",
    "3fff::1",
    "2001:2::1",
    "2001:10::1",
    "2001:20::1",
    "5f00::1",
    "4000::1",
    "255.255.255.255",
    "0.0.0.0",
    // No addresses, or none that everybody reads alike.
    "",
    "localhost",
    "127.1",
    "0x7f000001",
    "010.8.8.8",
    "8.8.8",
    "8.8.8.8 ",
    "2606:4700::1%lo",
    "[2606:4700::1]",
  ])("%p is not public", (text) => expect(publicText(text)).toBe(false));
});

test.each([
  "169.254.169.254",
  "::ffff:169.254.169.254",
  "64:ff9b::a9fe:a9fe",
  "2002:a9fe:a9fe::",
  "fd00:ec2::254",
  "FD00:0EC2:0:0::254",
  "168.63.129.16",
  "100.100.100.200",
  "169.254.170.2",
])("WB-28: %s is a metadata service and never public", (text) => {
  const address = parseAddress(text);
  if (address === null) throw new Error("not read as an address");
  expect(isMetadata(address)).toBe(true);
  expect(isPublic(address)).toBe(false);
});
