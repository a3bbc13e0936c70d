// Which destinations the host connects to on behalf of others (MW-69, WB-25, WB-28).
//
//   E1. Public addresses are admitted. Everything else needs an entry of the operator's allow-list.
//   E2. A decision is about one address that is about to be connected to, never about a name.
//   E3. A metadata service is admitted only by an entry that spells its address. A wide network is not enough, nor a
//       name, which whoever runs the DNS could point there.
import { type Address, isMetadata, isPublic, parseAddress } from "./address.ts";
import { type AllowEntry, covers, namesUrl, readAllowEntry, spells } from "./allow-entry.ts";
import { isBadPort } from "./bad-port.ts";
import { hostOf, portOf } from "./url-parts.ts";

export class EgressPolicy {
  readonly #entries: readonly AllowEntry[];

  /** `allow`: the entries of `readAllowEntry`. Throws AtollError `invalid_request` that quotes a malformed one. */
  constructor(allow: readonly string[] = []) {
    this.#entries = allow.map(readAllowEntry);
  }

  /** Whether a connection for `url` may go to `address` (E1 … E3). */
  admits(url: URL, address: Address): boolean {
    if (isPublic(address)) return true;
    const isNamed = this.#entries.some((entry) => namesUrl(entry, url));
    if (isMetadata(address)) {
      const isSpelt = parseAddress(hostOf(url)) !== null;
      return (isNamed && isSpelt) || this.#entries.some((entry) => spells(entry, address));
    }
    return isNamed || this.#entries.some((entry) => covers(entry, address));
  }

  /** Whether the port of `url` may be used: one that the Fetch standard blocks needs an entry that names it. */
  admitsPort(url: URL): boolean {
    return !isBadPort(portOf(url)) || this.#entries.some((entry) => namesUrl(entry, url));
  }
}
