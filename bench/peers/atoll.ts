// Atoll as an operator runs it: `atoll serve`, from a checkout or as the single binary, with Workers deployed through its
// public API.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type DeployParts, deploy } from "../../cli/deploy/deploy.ts";
import { buildWorkerFiles, type WorkerFiles } from "../../cli/deploy/worker-files.ts";
import { openSession } from "../../cli/session.ts";
import { type Child, runToEnd, startChild } from "../child.ts";
import type { Address, Peer, Prepared, Running, WorkerSource } from "../peer.ts";

/** Deployments under way at one time while many Workers are put in place. */
const DEPLOYMENTS_AT_ONCE = 8;
const DEPLOY_SECONDS = 300;

export class AtollPeer implements Peer {
  readonly name: string;
  readonly #command: string;

  /** @param command path of the `atoll` to run. */
  constructor(name: string, command: string) {
    this.name = name;
    this.#command = command;
  }

  async version(): Promise<string> {
    return (await runToEnd([this.#command, "--version"])).trim();
  }

  async prepare(workers: readonly WorkerSource[], scratch: string): Promise<Prepared> {
    const data = join(scratch, "data");
    const hosts = new Map<string, string>();
    const child = await this.#serve(data);
    try {
      const entries = await writeEntries(workers, join(scratch, "workers"));
      if (workers.length === 1) await this.#deployByCommand(entries, data, hosts);
      else await deployMany(entries, data, hosts);
    } finally {
      await child.stop();
    }
    return { start: async () => running(await this.#serve(data), hosts) };
  }

  #serve(data: string): Promise<Child> {
    const args = ["serve", "--data", data, "--listen", "127.0.0.1:0", "--tls-listen", "127.0.0.1:0", "--json"];
    return startChild([this.#command, ...args], (line) => line.includes('"ready"'), { ATOLL_LOG_LEVEL: "warn" });
  }

  async #deployByCommand(entries: readonly Entry[], data: string, hosts: Map<string, string>): Promise<void> {
    for (const { name, file } of entries) {
      const stdout = await runToEnd([this.#command, "deploy", file, "--name", name, "--data", data, "--json"]);
      hosts.set(name, (JSON.parse(stdout) as { hostname: string }).hostname);
    }
  }
}

interface Entry {
  readonly name: string;
  readonly file: string;
}

async function writeEntries(workers: readonly WorkerSource[], directory: string): Promise<Entry[]> {
  await mkdir(directory, { recursive: true });
  const entries = workers.map(({ name }) => ({ name, file: join(directory, `${name}.js`) }));
  await Promise.all(workers.map(({ source }, i) => writeFile(entries[i]?.file ?? "", source)));
  return entries;
}

/** What the command does, a thousand times without starting a process each time. */
async function deployMany(entries: readonly Entry[], data: string, hosts: Map<string, string>): Promise<void> {
  const session = await openSession({ data, wait: DEPLOY_SECONDS });
  const parts: DeployParts = { ...session, say: () => {} };
  // One after the other: the bundler works in the directory of the entry, and a process has but one.
  const built: { readonly name: string; readonly files: WorkerFiles }[] = [];
  for (const { name, file } of entries) built.push({ name, files: await buildWorkerFiles(file) });
  const left = built.values();
  const work = async (): Promise<void> => {
    for (const { name, files } of left) {
      const deployed = await deploy(parts, { name, space: "default", files, handlers: ["fetch"], vars: {} });
      if (deployed.hostname !== null) hosts.set(name, deployed.hostname);
    }
  };
  await Promise.all(Array.from({ length: DEPLOYMENTS_AT_ONCE }, work));
}

function running(child: Child, hosts: ReadonlyMap<string, string>): Running {
  const origin = (JSON.parse(child.readyLine) as { http: string }).http;
  return {
    readyMs: child.readyMs,
    startedAtMs: child.startedAtMs,
    address: (worker): Address => {
      const host = hosts.get(worker);
      if (host === undefined) throw new Error(`no Worker ${worker} was prepared`);
      return { origin, host };
    },
    memory: () => child.memory(),
    stop: () => child.stop(),
  };
}
