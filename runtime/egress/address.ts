// IP addresses: which of them belong to the public internet.
//
// The list of what is public is closed: IPv4 without the special ranges, and IPv6 global unicast (2000::/3) without
// them. Whatever is unknown, reserved for later or not understood is not public (WB-28).
import ipaddr from "ipaddr.js";

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Where clouds answer their guests' questions about credentials. Some of them lie in ranges that look public. */
const METADATA = new Set([
  "169.254.169.254", // most clouds
  "169.254.170.2", // container credentials
  "169.254.170.23",
  "168.63.129.16", // a public address that only a guest can reach
  "100.100.100.200",
  "192.0.0.192",
  "fd00:ec2::254",
  "fd00:ec2::23",
  "fd20:ce::254",
]);

const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR("2000::/3");
const NAT64 = ipaddr.IPv6.parseCIDR("64:ff9b::/96");
const SIX_TO_FOUR = ipaddr.IPv6.parseCIDR("2002::/16");

/**
 * The address that `text` names, or null when it is none: four decimal numbers or IPv6 without a zone. An IPv4
 * address inside ::ffff:0:0/96 comes back as the IPv4 address, because a connection to it goes there.
 */
export function parseAddress(text: string): Address | null {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  if (text.includes("%") || !ipaddr.IPv6.isValid(text)) return null;
  const address = ipaddr.IPv6.parse(text);
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

/** WB-28: whether the address is on the public internet, judged by where a packet to it ends up. */
export function isPublic(address: Address): boolean {
  const end = destination(address);
  if (isMetadata(end)) return false;
  if (end instanceof ipaddr.IPv4) return end.range() === "unicast";
  return end.match(GLOBAL_UNICAST) && end.range() === "unicast";
}

/** Whether a packet to the address ends up at a metadata service of a cloud. */
export function isMetadata(address: Address): boolean {
  return METADATA.has(destination(address).toString());
}

/** NAT64 and 6to4 addresses carry the IPv4 address at which their packets leave the tunnel. */
function destination(address: Address): Address {
  if (address instanceof ipaddr.IPv4) return address;
  const bytes = address.toByteArray();
  if (address.match(NAT64)) return new ipaddr.IPv4(bytes.slice(12, 16));
  if (address.match(SIX_TO_FOUR)) return new ipaddr.IPv4(bytes.slice(2, 6));
  return address;
}
