import { createServer } from "node:net";

/** `free` when something could listen there right now, else the platform's error code. */
export function listenOutcome(host: string, port: number): Promise<string> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "unknown"));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve("free")));
  });
}
