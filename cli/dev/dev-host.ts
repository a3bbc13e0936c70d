// A node in this process for one author: it listens on one plain port, and answers every host name there.
import { readFile } from "node:fs/promises";
import type { Clock } from "../../base/clock.ts";
import type { Random } from "../../base/random.ts";
import type { LogEntry } from "../../runtime/logs/log-entry.ts";
import { HostClient } from "../client/host-client.ts";
import type { NodeLocation } from "../client/node-location.ts";
import { OperatorClient } from "../client/operator-client.ts";
import { loadConfig } from "../config.ts";
import { type Node, openNode, type Unaddressed } from "../node/node.ts";
import { nodeLog } from "./node-log.ts";

export interface DevHostParts {
  readonly clock: Clock;
  readonly random: Random;
  /** Data directory, absolute. */
  readonly data: string;
  /** host:port of the plain listener. */
  readonly listen: string;
  readonly onLog: (entry: LogEntry) => void;
  readonly unaddressed: Unaddressed;
  /** Words of the node itself that an author should see. */
  readonly complain: (message: string) => void;
  onStuckCell(): void;
}

export interface DevHost {
  /** Origin of the plain listener. */
  readonly origin: string;
  readonly client: HostClient;
  readonly operator: OperatorClient;
  close(): Promise<void>;
}

const DRAIN_MS = 300;
const PATIENCE_MS = 30_000;

/** Rejects with a UsageError when the port is taken. */
export async function openDevHost(parts: DevHostParts): Promise<DevHost> {
  const { clock, random, data, listen, complain } = parts;
  const flags = { data, listen, tlsListen: "127.0.0.1:0", endpointDomain: "atoll.localhost" };
  const config = await loadConfig({ flags, env: {}, cwd: data });
  const node = await openNode({
    config,
    clock,
    random,
    log: nodeLog(complain),
    secretKey: undefined,
    onLog: parts.onLog,
    unaddressed: parts.unaddressed,
    onStuckCell: () => parts.onStuckCell(),
  });
  try {
    const location = await locationOf(node);
    const fetch = (url: string, init: RequestInit): Promise<Response> => node.handle(new Request(url, init));
    const client = await HostClient.connect({ location, fetch, clock, random, patienceMs: PATIENCE_MS });
    return {
      origin: node.http,
      client,
      operator: new OperatorClient(client.transport, location),
      close: () => node.stop(DRAIN_MS),
    };
  } catch (error) {
    await node.stop(0);
    throw error;
  }
}

/** The plain listener belongs to the Worker, so the APIs are asked without a network. */
async function locationOf(node: Node): Promise<NodeLocation> {
  return {
    origin: new URL(node.baseUrl).origin,
    baseUrl: { must: "equal", value: node.baseUrl },
    token: (await readFile(node.adminTokenFile, "utf8")).trim(),
    ca: null,
    description: "the development node",
  };
}
