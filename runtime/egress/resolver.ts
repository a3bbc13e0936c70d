// The port of name resolution.
import { lookup } from "node:dns/promises";

export interface Resolver {
  /** The addresses of `hostname`, best first; rejects when there are none. Nothing is promised about a second call. */
  resolve(hostname: string): Promise<readonly string[]>;
}

/** Asks the operating system, so that the hosts file and the machine's own resolver count. */
export class SystemResolver implements Resolver {
  async resolve(hostname: string): Promise<readonly string[]> {
    const found = await lookup(hostname, { all: true, order: "verbatim" });
    return found.map((each) => each.address);
  }
}
