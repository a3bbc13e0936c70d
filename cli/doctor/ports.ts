import { type Finding, fail, ok } from "./finding.ts";

export interface PortFacts {
  readonly listeners: readonly {
    /** `host:port` as configured. */
    readonly address: string;
    readonly port: number;
    /** `free`, or the platform's error code. */
    readonly outcome: string;
  }[];
  /** Ports that a running node on this data directory holds. */
  readonly own: ReadonlySet<number>;
}

export function ports({ listeners, own }: PortFacts): Finding {
  const held: string[] = [];
  for (const { address, port, outcome } of listeners) {
    if (outcome === "free") continue;
    if (outcome === "EADDRINUSE" && own.has(port)) held.push(address);
    else if (outcome === "EADDRINUSE") {
      return fail(
        `another process listens on ${address}`,
        "stop it, or choose other ports with --listen and --tls-listen",
      );
    } else if (outcome === "EACCES") {
      return fail(
        `this user may not listen on ${address}`,
        "choose a port from 1024 up, or give the service AmbientCapabilities=CAP_NET_BIND_SERVICE",
      );
    } else if (outcome === "EADDRNOTAVAIL") {
      return fail(`${address} is no address of this machine`, "use an address that it has, or 0.0.0.0 for all of them");
    } else {
      return fail(
        `nothing can listen on ${address} (${outcome})`,
        "choose another address with --listen and --tls-listen",
      );
    }
  }
  const addresses = listeners.map(({ address }) => address).join(" and ");
  if (held.length > 0) return ok(`the node that runs on this data directory listens on ${held.join(" and ")}`);
  return ok(`${addresses} are free`);
}
