import { createServer, type AddressInfo, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { once } from "node:events";

/** A server that speaks whatever the test scripts, byte by byte, and counts its connections. */
export interface RawOrigin extends AsyncDisposable {
  readonly port: number;
  /** Connections accepted so far, and how many of them have closed. */
  readonly opened: () => number;
  readonly closed: () => number;
  /** Resolves when `count` connections have closed. */
  readonly untilClosed: (count: number) => Promise<void>;
  /** Server names that TLS clients asked for. */
  readonly serverNames: readonly string[];
}

export interface RawOriginOptions {
  readonly hostname?: string;
  readonly port?: number;
  readonly tls?: { readonly certPem: string; readonly keyPem: string };
}

/** Listens on loopback; `serve` gets each connection once it is established. */
export async function rawOrigin(
  serve: (socket: Socket) => void,
  { hostname = "127.0.0.1", port = 0, tls }: RawOriginOptions = {},
): Promise<RawOrigin> {
  const sockets = new Set<Socket>();
  const serverNames: string[] = [];
  let opened = 0;
  let closed = 0;
  let waiting: { count: number; resolve: () => void }[] = [];
  const accept = (socket: Socket): void => {
    opened += 1;
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => {
      sockets.delete(socket);
      closed += 1;
      for (const each of waiting.filter(({ count }) => count <= closed)) each.resolve();
      waiting = waiting.filter(({ count }) => count > closed);
    });
    if ("servername" in socket && typeof socket.servername === "string") serverNames.push(socket.servername);
    serve(socket);
  };
  const server =
    tls === undefined ? createServer(accept) : createTlsServer({ cert: tls.certPem, key: tls.keyPem }, accept);
  server.on("tlsClientError", () => {});
  server.listen(port, hostname);
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    opened: () => opened,
    closed: () => closed,
    untilClosed: (count) => {
      if (closed >= count) return Promise.resolve();
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push({ count, resolve });
      return promise;
    },
    serverNames,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** An origin that answers every request head with `answer` as it is, and closes after it when told to. */
export function cannedOrigin(
  answer: string,
  more: RawOriginOptions & { readonly close?: boolean } = {},
): Promise<RawOrigin> {
  return rawOrigin((socket) => {
    socket.once("data", () => {
      socket.write(Buffer.from(answer, "latin1"));
      if (more.close === true) socket.end();
    });
  }, more);
}
