// The two listeners of a node. Tenant traffic takes the shortest path through Bun.serve; what is no Worker's goes to
// the APIs.
import type { Listener } from "../config.ts";
import { UsageError } from "../usage-error.ts";

export type Handler = (request: Request) => Response | Promise<Response>;

export interface Listeners {
  /** Origins as clients on this machine reach them. */
  readonly http: string;
  readonly https: string;
  readonly tlsPort: number;
  /** Requests whose response has not been sent completely. */
  pending(): number;
  /** Answer with `handler` from now on. */
  answer(handler: Handler): void;
  /** Take new certificates; open connections keep theirs. */
  renew(tls: TlsMaterial): void;
  /** Accept no new connections. */
  close(): void;
  /** Cut what is still open. */
  cut(): Promise<void>;
}

export interface TlsMaterial {
  readonly cert: string;
  readonly key: string;
}

const starting: Handler = () =>
  new Response("The node is starting.\n", { status: 503, headers: { "retry-after": "1" } });

/** Throws a UsageError that names the flag when an address is taken or not ours. */
export function openListeners(plain: Listener, tls: Listener, material: TlsMaterial): Listeners {
  let handler: Handler = starting;
  const common = {
    // Long-polling clients and open streams stay; their Workers decide how long.
    idleTimeout: 0,
    // Uploads are streams with backpressure; the APIs have limits of their own.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    development: false,
    fetch: (request: Request) => handler(request),
    error: () => new Response("Internal error.\n", { status: 500 }),
  };
  const http = listen("--listen", plain, () => Bun.serve({ ...common, ...plain }));
  let https: Bun.Server<undefined>;
  try {
    https = listen("--tls-listen", tls, () => Bun.serve({ ...common, ...tls, tls: material }));
  } catch (error) {
    void http.stop(true);
    throw error;
  }
  const servers = (): Bun.Server<undefined>[] => [http, https];
  return {
    http: `http://${authority(plain.hostname, http.port ?? 0)}`,
    https: `https://${authority(tls.hostname, https.port ?? 0)}`,
    tlsPort: https.port ?? 0,
    pending: () => servers().reduce((sum, { pendingRequests }) => sum + pendingRequests, 0),
    answer: (next) => {
      handler = next;
    },
    renew: (next) => {
      // A running server keeps its certificate for ever; its successor takes over the port, open connections stay.
      const port = https.port ?? 0;
      void https.stop(false);
      https = Bun.serve({ ...common, hostname: tls.hostname, port, tls: next });
    },
    close: () => {
      for (const server of servers()) void server.stop(false);
    },
    cut: async () => {
      await Promise.all(servers().map((server) => server.stop(true)));
    },
  };
}

function listen(flag: string, { hostname, port }: Listener, open: () => Bun.Server<undefined>): Bun.Server<undefined> {
  try {
    return open();
  } catch {
    throw new UsageError(`${flag} ${authority(hostname, port)} cannot be opened; choose another address or port 0`);
  }
}

/** host:port as it stands in a URL; an address that means "all" becomes one that can be dialled. */
function authority(hostname: string, port: number): string {
  if (hostname === "0.0.0.0" || hostname === "::") return `localhost:${port}`;
  return hostname.includes(":") ? `[${hostname}]:${port}` : `${hostname}:${port}`;
}
