// Connecting to one of several vetted addresses.
//
//   D1. A connection goes to an address of the list and nowhere else: no name is resolved here.
//   D2. At most one socket comes out; every other attempt is closed.
//
// The attempts overlap (RFC 8305): where the first address is dead, the second one gets its chance after a moment and
// not after a full timeout.
import { connect, type Socket } from "node:net";
import { type SecureContext, type TLSSocket, checkServerIdentity, connect as secure } from "node:tls";
import type { Cancel, Clock } from "../../base/clock.ts";
import type { Address } from "./address.ts";

/** The pause before the next address is tried while the one before has not answered. */
const STAGGER_MS = 250;

/** Begins a connection; the platform's own outside of tests. */
export type Connect = (options: { readonly host: string; readonly port: number; readonly noDelay: true }) => Socket;

/**
 * A connected TCP socket to the first of `addresses` that answers. Rejects with the last error when none does, and
 * with the signal's reason when it aborts.
 */
export async function dial(
  addresses: readonly Address[],
  port: number,
  clock: Clock,
  signal: AbortSignal,
  begin: Connect = connect,
): Promise<Socket> {
  const attempts = new Set<Socket>();
  let cancelStagger: Cancel = () => {};
  const winner = Promise.withResolvers<Socket>();
  const queue = [...addresses];
  const startNext = (): void => {
    cancelStagger();
    const address = queue.shift();
    if (address === undefined) return;
    const socket = begin({ host: address.toString(), port, noDelay: true });
    attempts.add(socket);
    socket.once("connect", () => winner.resolve(socket));
    socket.on("error", (error) => {
      attempts.delete(socket);
      if (attempts.size === 0 && queue.length === 0) winner.reject(error);
      else startNext();
    });
    if (queue.length > 0) cancelStagger = clock.after(STAGGER_MS, startNext);
  };
  const onAbort = (): void => winner.reject(signal.reason);
  signal.addEventListener("abort", onAbort);
  try {
    signal.throwIfAborted();
    startNext();
    const socket = await winner.promise;
    attempts.delete(socket);
    return socket;
  } finally {
    cancelStagger();
    signal.removeEventListener("abort", onAbort);
    queue.length = 0;
    for (const socket of attempts) socket.destroy();
  }
}

/**
 * Speak TLS over a connected socket with the certificate checked against `host` (WB-27): the name that was asked for,
 * or the address where the URL has one. Rejects with the platform's error, or with the signal's reason. The socket is
 * destroyed unless it succeeds.
 */
export async function secureSocket(
  socket: Socket,
  host: { readonly name: string; readonly isAddress: boolean },
  context: SecureContext,
  signal: AbortSignal,
): Promise<TLSSocket> {
  const name = host.name.replace(/\.$/, "");
  const tls = secure({
    socket,
    secureContext: context,
    // Server names in TLS are names only (RFC 6066).
    ...(host.isAddress ? {} : { servername: name }),
    ALPNProtocols: ["http/1.1"],
    // Said aloud, because the environment can change the default.
    rejectUnauthorized: true,
    checkServerIdentity: (_presented, certificate) => checkServerIdentity(name, certificate),
  });
  const secured = Promise.withResolvers<TLSSocket>();
  secured.promise.catch(() => {}); // it may fail once more after the signal already ended the wait
  const onAbort = (): void => secured.reject(signal.reason);
  signal.addEventListener("abort", onAbort);
  tls.once("secureConnect", () => secured.resolve(tls));
  tls.on("error", secured.reject);
  tls.once("close", () => secured.reject(new Error("closed during the TLS handshake")));
  try {
    signal.throwIfAborted();
    return await secured.promise;
  } catch (error) {
    tls.destroy();
    socket.destroy();
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
