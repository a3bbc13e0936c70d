// workerd as its own documentation runs it: `workerd serve` with a configuration file that embeds the modules.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runToEnd, startChild } from "../child.ts";
import type { Peer, Prepared, Running, WorkerSource } from "../peer.ts";

const WORKERD = new URL("../node_modules/.bin/workerd", import.meta.url).pathname;
const COMPATIBILITY_DATE = "2025-01-01";
/** workerd does not start without a service. */
const NOTHING: WorkerSource = { name: "nothing", source: "export default { fetch() { return new Response(); } };\n" };

export class WorkerdPeer implements Peer {
  readonly name = "workerd";

  async version(): Promise<string> {
    return (await runToEnd([WORKERD, "--version"])).trim().replace(/^workerd /, "");
  }

  async prepare(given: readonly WorkerSource[], scratch: string): Promise<Prepared> {
    const workers = given.length === 0 ? [NOTHING] : given;
    const directory = join(scratch, "workerd");
    await mkdir(directory, { recursive: true });
    await Promise.all(workers.map(({ name, source }) => writeFile(join(directory, `${name}.js`), source)));
    const file = join(directory, "config.capnp");
    await writeFile(file, configOf(workers));
    return { start: () => start(file) };
  }
}

/** The first Worker gets the socket; the others are services beside it. */
function configOf(workers: readonly WorkerSource[]): string {
  const services = workers.map(
    ({ name }) => `    (name = "${name}", worker = (
      modules = [(name = "worker", esModule = embed "${name}.js")],
      compatibilityDate = "${COMPATIBILITY_DATE}",
    )),`,
  );
  return `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
${services.join("\n")}
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "${workers[0]?.name}")],
);
`;
}

async function start(file: string): Promise<Running> {
  const child = await startChild([WORKERD, "serve", "--control-fd=1", file], (line) => line.includes('"listen"'));
  const { port } = JSON.parse(child.readyLine) as { port: number };
  return {
    readyMs: child.readyMs,
    startedAtMs: child.startedAtMs,
    address: (worker) => ({ origin: `http://127.0.0.1:${port}`, host: `${worker}.localhost` }),
    memory: () => child.memory(),
    stop: () => child.stop(),
  };
}
