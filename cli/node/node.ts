// A node: every object built once, bottom rung first. Reading this is reading the architecture.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { lazyApi } from "../../api/lazy-api.ts";
import type { Api } from "../../api/server.ts";
import { DEFAULT_HOST_LIMITS, STANDARD_ROOT } from "../../api/host/host-config.ts";
import type { Clock } from "../../base/clock.ts";
import type { NodeId, ShardId } from "../../base/ids.ts";
import type { Logger } from "../../base/log.ts";
import { newId, type Random } from "../../base/random.ts";
import { SplitClock } from "../../base/split-clock.ts";
import { HeldOrFetchedAcquirer } from "../../control/artifacts/held-or-fetched-acquirer.ts";
import { StoreUpload } from "../../control/artifacts/store-upload.ts";
import { WorkerCatalog } from "../../control/catalog/worker-catalog.ts";
import { Control } from "../../control/control.ts";
import { DEFAULT_CONTROL_CONFIG } from "../../control/control-config.ts";
import { edgeForms } from "../../control/forms/edge-forms.ts";
import { FormRegistry } from "../../control/forms/registry.ts";
import { StoreView } from "../../control/operations/control-view.ts";
import { ensureAdmin } from "../../control/principals/first-start.ts";
import { Principals } from "../../control/principals/principals.ts";
import { EgressPolicy } from "../../runtime/egress/egress-policy.ts";
import { SystemResolver } from "../../runtime/egress/resolver.ts";
import { TenantFetch } from "../../runtime/egress/tenant-fetch.ts";
import { VettedFetch } from "../../runtime/egress/vetted-fetch.ts";
import { CertificateAuthority } from "../../runtime/ingress/certificate-authority.ts";
import { Ingress } from "../../runtime/ingress/ingress.ts";
import { probeTls } from "../../runtime/ingress/tls-probe.ts";
import type { LogEntry } from "../../runtime/logs/log-entry.ts";
import { Shard } from "../../runtime/shard/shard.ts";
import { TestClock } from "../../runtime/time/test-clock.ts";
import { WheelClock } from "../../runtime/wheel/wheel-clock.ts";
import { DEFAULT_WORKERS_LIMITS, Workers } from "../../runtime/workers/workers.ts";
import { ArtifactStore } from "../../storage/artifacts/artifact-store.ts";
import { ControlStore } from "../../storage/control/control-store.ts";
import { ensureDir } from "../../storage/disk/durable-file.ts";
import { loadMasterKey } from "../../storage/secrets/master-key.ts";
import { Sealer } from "../../storage/secrets/sealer.ts";
import { SealedVault } from "../../storage/secrets/vault.ts";
import { TestClockFile } from "../../storage/time/test-clock-file.ts";
import { TlsFiles } from "../../storage/tls/tls-files.ts";
import type { Config } from "../config.ts";
import { UsageError } from "../usage-error.ts";
import { type Listeners, openListeners } from "./listeners.ts";
import { metricsPage } from "./metrics.ts";
import { observe } from "./observation.ts";

export interface NodeParts {
  readonly config: Config;
  /** Real time. */
  readonly clock: Clock;
  /** Let the node's time stand still until an operator moves it. For tests alone. */
  readonly testClock?: boolean;
  readonly random: Random;
  readonly log: Logger;
  /** Value of ATOLL_SECRET_KEY. */
  readonly secretKey: string | undefined;
  /** Told of every console line, uncaught error and request of a Worker, in order. Must not throw and must not wait. */
  readonly onLog?: (entry: LogEntry) => void;
  /** Answers plain requests to host names that are no Worker's; null leaves them to the APIs. */
  readonly unaddressed?: Unaddressed;
  /** Code that cannot be stopped holds a thread: the process has to end and come back. */
  onStuckCell(): void;
}

/** @param worker answers with the Worker at a host name; null when there is none. */
export type Unaddressed = (
  request: Request,
  worker: (hostname: string) => Response | Promise<Response> | null,
) => Response | Promise<Response> | null;

export interface Node {
  readonly http: string;
  readonly https: string;
  readonly baseUrl: string;
  readonly adminTokenFile: string;
  /** The authority behind the TLS listener; null when the operator brought a certificate. */
  readonly caFile: string | null;
  /** Null unless the node was opened with one. */
  readonly testClock: TestClock | null;
  /** The APIs, for callers in this process. */
  handle(request: Request): Promise<Response>;
  /** Finish what runs within `drainMs`, then end everything. */
  stop(drainMs: number): Promise<void>;
}

/** How often expired artifacts are removed. */
const COLLECT_EVERY_MS = 10 * 60_000;
const COLLECT_FIRST_MS = 60_000;
const DRAIN_LOOK_MS = 25;
/** What the reconciler has under way may take so long to finish when the node stops. */
const LAST_STEPS_MS = 2_000;
/** Enough to tell runs of one node apart. */
const RUN_CHARS = 8;
/** Most changes settle within this time; then one answer tells the end and nobody has to ask again. */
const SETTLE_WAIT_MS = 300;

/** Open a node on its data directory: the same path after a first start, a stop and a crash. */
export async function openNode(parts: NodeParts): Promise<Node> {
  const { config, clock: system, random, log } = parts;
  await ensureDir(config.data, 0o700);
  const testClock = parts.testClock === true ? await openTestClock(parts) : null;
  // Everything that is stamped or put off follows the node's time; limits and waits on the platform are real.
  const clock = testClock ?? system;
  const hostClock = testClock === null ? system : new SplitClock(testClock, system);
  const shard = await Shard.open({
    directory: config.data,
    shard: "0000" as ShardId,
    owner: newId(random, "n") as NodeId,
    clock,
    random,
    logger: log,
    ...(testClock === null ? {} : { clockCheckMs: Number.POSITIVE_INFINITY }),
  });
  // One way to be late: what the control plane puts off goes through the shard's wheel.
  const timers = new WheelClock(clock, shard.wheel);
  const store = ControlStore.open(join(config.data, "control.sqlite"));
  const artifacts = await ArtifactStore.open(join(config.data, "artifacts"), { clock });
  const masterKey = await loadMasterKey({ path: join(config.data, "secret-key"), given: parts.secretKey, random });
  const tls = await tlsFor(parts);
  const listeners = openListeners(config.listen, config.tlsListen, { cert: tls.certPem, key: tls.keyPem });
  const baseUrl = (config.publicUrl ?? listeners.https) + STANDARD_ROOT;

  const resolver = new SystemResolver();
  const vault = new SealedVault(store, new Sealer(masterKey, "vault", random));
  const view = new StoreView(store);
  const observation = observe({ clock, log, onLog: parts.onLog });
  const workers = new Workers({
    clock: hostClock,
    random,
    log,
    workerLog: observation.workerLog,
    limits: { ...DEFAULT_WORKERS_LIMITS, cpuMs: config.limits.cpuMs, memoryBytes: config.limits.memoryMb * 2 ** 20 },
    catalog: new WorkerCatalog({ view, vault }),
    bytes: artifacts,
    outbound: new TenantFetch(
      new VettedFetch({ clock: system, resolver, policy: new EgressPolicy(config.egress.allow) }),
    ),
    probe: async (hostname, routeReady) => {
      const address = new URL(listeners.https).hostname.replace(/^\[(.*)\]$/, "$1");
      const tlsReady = await probeTls(hostname, { address, port: listeners.tlsPort, caPem: tls.caPem }, system);
      return { activeDeploymentRouteReady: routeReady, ...(tlsReady === null ? {} : { tlsReady }) };
    },
    onStuckCell: () => parts.onStuckCell(),
  });
  const acquirer = new HeldOrFetchedAcquirer({
    store: artifacts,
    clock: hostClock,
    resolver,
    allowOrigins: config.artifacts.allowOrigins,
  });
  const principals = new Principals({ store, clock, random });
  const adminTokenFile = join(config.data, "admin-token");
  await ensureAdmin(principals, adminTokenFile);
  const control = new Control({
    store,
    forms: new FormRegistry(
      edgeForms({
        runtime: workers,
        artifacts: acquirer,
        vault,
        clock: hostClock,
        log,
        endpointDomain: config.endpointDomain,
      }),
    ),
    masterKey,
    clock: timers,
    systemClock: system,
    random,
    log,
    config: {
      ...DEFAULT_CONTROL_CONFIG,
      replayWindowMs: config.replayWindowSeconds * 1_000,
      unfinishedMax: config.limits.unfinishedOperations,
    },
  });
  const origin = new URL(baseUrl).origin;
  const api = lazyApi({
    control,
    principals,
    artifacts: new StoreUpload(artifacts),
    host: {
      ...DEFAULT_HOST_LIMITS,
      settleWaitMs: SETTLE_WAIT_MS,
      baseUrl,
      documentation: `${origin}/docs`,
      authenticationDocumentation: `${origin}/docs/authentication`,
      maxRequestBytes: config.limits.requestBytes,
      maxPageSize: config.limits.pageSize,
    },
    telemetry: {
      logs: observation.bus,
      run: newId(random, "").slice(0, RUN_CHARS),
      clock: system,
      nodeClock: clock,
      metrics: () => metricsPage({ requests: observation.requests, logs: observation.bus, workers, artifacts, store }),
      test: testClock === null ? null : { clock: testClock, evict: (uid) => workers.evict(uid) },
    },
    log,
  });
  control.start();
  const ingress = new Ingress(workers, config.endpointDomain, system, observation.watch);
  answer(listeners, ingress, api, parts.unaddressed);
  await collectArtifacts(shard, artifacts, clock);
  // Clients check certificates against real time.
  renewCertificate(parts, tls, listeners, testClock === null ? timers : system);
  testClock?.watch(() => shard.wheel.firing > 0 || control.busy);

  return {
    http: listeners.http,
    https: listeners.https,
    baseUrl,
    adminTokenFile,
    caFile: tls.caFile,
    testClock,
    handle: (request) => api.handle(request),
    async stop(drainMs) {
      listeners.close();
      const untilMs = system.monotonicMs() + drainMs;
      observation.bus.close();
      while (listeners.pending() + workers.running > 0 && system.monotonicMs() < untilMs) {
        await new Promise<void>((resolve) => system.after(DRAIN_LOOK_MS, resolve));
      }
      // An Operation that is under way may wait for others for minutes; it goes on at the next start.
      const stopped = control.stop();
      await Promise.race([stopped, new Promise<void>((resolve) => system.after(LAST_STEPS_MS, resolve))]);
      await workers.stop(0);
      await listeners.cut();
      await shard.close();
      artifacts.close();
      store.close();
    },
  };
}

function openTestClock({ config, clock, log }: NodeParts): Promise<TestClock> {
  return TestClock.open({ file: new TestClockFile(join(config.data, "test-clock.json")), system: clock, log });
}

function answer(listeners: Listeners, ingress: Ingress, api: Api, unaddressed: Unaddressed | undefined): void {
  if (unaddressed === undefined) {
    listeners.answer((request) => ingress.handle(request) ?? api.handle(request));
    return;
  }
  const others = (request: Request): Response | Promise<Response> | null =>
    request.url.startsWith("http:") ? unaddressed(request, (hostname) => ingress.handleAs(request, hostname)) : null;
  listeners.answer((request) => ingress.handle(request) ?? others(request) ?? api.handle(request));
}

interface NodeTls {
  readonly certPem: string;
  readonly keyPem: string;
  /** Undefined: the public authorities. */
  readonly caPem: string | undefined;
  readonly caFile: string | null;
  readonly renewAtMs: number | null;
}

async function tlsFor({ config, clock, random, log }: NodeParts): Promise<NodeTls> {
  if (config.tls !== undefined) {
    const [certPem, keyPem] = await Promise.all([
      readPem("tls.certFile", config.tls.certFile),
      readPem("tls.keyFile", config.tls.keyFile),
    ]);
    return { certPem, keyPem, caPem: undefined, caFile: null, renewAtMs: null };
  }
  const files = new TlsFiles(join(config.data, "tls"));
  const authority = new CertificateAuthority({ files, clock, random, logger: log });
  const { endpointDomain, publicUrl, tlsListen } = config;
  const public_ = publicUrl === undefined ? [] : [new URL(publicUrl).hostname];
  const listening = /^(0\.0\.0\.0|::)$/.test(tlsListen.hostname) ? [] : [tlsListen.hostname];
  const names = [`*.${endpointDomain}`, endpointDomain, "localhost", "127.0.0.1", "::1", ...public_, ...listening];
  const certificate = await authority.certificateFor(names);
  return { ...certificate, caFile: files.caFile };
}

/** Expired artifacts go a minute after a start and then every ten: a node that restarts often still collects. */
async function collectArtifacts(shard: Shard, artifacts: ArtifactStore, clock: Clock): Promise<void> {
  const { wheel } = shard;
  const next = (ms: number): Promise<void> => wheel.set("artifact-collection", "all", clock.nowMs() + ms);
  wheel.register("artifact-collection", async () => {
    await artifacts.collect(clock.nowMs());
    await next(COLLECT_EVERY_MS);
  });
  await next(COLLECT_FIRST_MS);
}

/** The authority's certificate is renewed in time while the node runs; one that the operator brought is theirs. */
function renewCertificate(parts: NodeParts, tls: NodeTls, listeners: Listeners, timers: Clock): void {
  if (tls.renewAtMs === null) return;
  timers.after(Math.max(0, tls.renewAtMs - timers.nowMs()), () => {
    tlsFor(parts)
      .then((renewed) => {
        listeners.renew({ cert: renewed.certPem, key: renewed.keyPem });
        renewCertificate(parts, renewed, listeners, timers);
      })
      .catch((error: unknown) => parts.log.error("the server certificate could not be renewed", { error }));
  });
}

/** Rejects with a UsageError that names the key of the config file. */
async function readPem(key: string, path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch {
    throw new UsageError(`the file of ${key} cannot be read; check its path and who may read it`);
  }
}
