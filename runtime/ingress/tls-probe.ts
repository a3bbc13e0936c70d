import { connect } from "node:tls";
import type { Clock } from "../../base/clock.ts";

export interface TlsProbeTarget {
  readonly address: string;
  readonly port: number;
  /** Authorities to trust, PEM; undefined for the public ones. */
  readonly caPem: string | undefined;
}

const WALL_MS = 5_000;

/**
 * Meet the TLS listener as a client would: connect, name the host, verify its certificate. True or false when that was
 * found out, null when it could not be (WE-18).
 */
export function probeTls(hostname: string, target: TlsProbeTarget, clock: Clock): Promise<boolean | null> {
  const { promise, resolve } = Promise.withResolvers<boolean | null>();
  const socket = connect({
    host: target.address,
    port: target.port,
    servername: hostname,
    rejectUnauthorized: true,
    ...(target.caPem === undefined ? {} : { ca: [target.caPem] }),
  });
  const cancel = clock.after(WALL_MS, () => resolve(null));
  socket.once("secureConnect", () => resolve(true));
  socket.once("error", (error: Error & { code?: string }) => {
    // A refused or broken connection says nothing about the certificate.
    const unknown = /^(ECONN|ETIMEDOUT|EPIPE|EHOSTUNREACH|ENETUNREACH)/.test(error.code ?? "");
    resolve(unknown ? null : false);
  });
  return promise.finally(() => {
    cancel();
    socket.destroy();
  });
}
