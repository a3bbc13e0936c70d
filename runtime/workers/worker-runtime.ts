// What the control plane and the ingress ask of the part that runs Workers. Types only; `workers.ts` answers.
import type { ResourceUid, Sha256Hex, SpaceName } from "../../base/ids.ts";
import type { Json } from "../../base/json.ts";

export type HandlerName = "fetch" | "scheduled" | "queue";

/** The module media types of MW-25 … MW-29 (MW-A2 for the source map). */
export type MediaType =
  | "application/javascript+module"
  | "text/plain"
  | "application/octet-stream"
  | "application/wasm"
  | "application/source-map+json";

export interface ModuleFile {
  readonly path: string;
  readonly mediaType: MediaType;
  readonly sha256: Sha256Hex;
  readonly byteSize: number;
}

/** A verified bundle: what the linker loads, by digest. `entrypoint` is the path of one JavaScript module. */
export interface ModuleGraph {
  readonly entrypoint: string;
  readonly files: readonly ModuleFile[];
}

export type BindingSpec = { readonly kind: "service"; readonly name: string; readonly workerUid: ResourceUid };

/** Everything a cell needs to run one Version, apart from secret values. */
export interface VersionSpec {
  readonly versionUid: ResourceUid;
  readonly workerUid: ResourceUid;
  /** Resource names, for log lines. */
  readonly workerName: string;
  readonly versionName: string;
  readonly space: SpaceName;
  readonly graph: ModuleGraph;
  readonly handlers: readonly HandlerName[];
  readonly vars: Readonly<Record<string, Json>>;
  readonly secretNames: readonly string[];
  readonly bindings: readonly BindingSpec[];
}

/** Where the runtime looks a Version up, lazily, when its first event arrives. Answered by the control plane. */
export interface VersionCatalog {
  /** Null when the Version does not exist or is not ready. */
  version(versionUid: ResourceUid): VersionSpec | null;
  /** The values of `secretNames`; rejects when they cannot be unsealed. */
  secrets(versionUid: ResourceUid): Promise<Readonly<Record<string, string>>>;
}

/** Where module bytes come from: the artifact store. */
export interface ModuleBytes {
  /** The verified bytes of a held artifact; rejects with `artifact_unreachable` when they are not held. */
  read(sha256: Sha256Hex): Promise<Uint8Array>;
}

export interface Distribution {
  readonly deploymentUid: ResourceUid;
  /** Weights in basis points, sum 10000 (WD-5). */
  readonly entries: readonly { readonly versionUid: ResourceUid; readonly weight: number }[];
}

export interface ExportedClass {
  readonly name: string;
  /** Names of callable properties found on the prototype chain below Object.prototype. */
  readonly methods: readonly string[];
}

/** Stable, payload-free codes of a failed verification (WV-A5). */
export type InspectionFault =
  | "module_not_found"
  | "unsupported_media_type"
  | "module_invalid" // invalid UTF-8 or invalid WebAssembly
  | "module_syntax_error"
  | "module_evaluation_failed"
  | "default_export_invalid"
  | "inspection_timeout";

export type InspectReport =
  | { readonly ok: true; readonly handlers: readonly HandlerName[]; readonly classes: readonly ExportedClass[] }
  | { readonly ok: false; readonly code: InspectionFault; readonly message: string };

export interface RouteProbe {
  /** Set only when actually checked (WE-18). */
  readonly tlsReady?: boolean;
  readonly activeDeploymentRouteReady?: boolean;
}

export interface WorkerRuntime {
  /**
   * Load, link and evaluate the graph in a throw-away cell and report what it exports (MW-41, MW-A11). Bounded in
   * time; a hostile module can fail its own inspection and nothing else. Rejects only on faults of the host.
   */
  inspect(graph: ModuleGraph): Promise<InspectReport>;
  /** From now on new events of the Worker choose from `distribution`; null closes selection (WD-14, WD-40, WD-44). */
  setDistribution(workerUid: ResourceUid, distribution: Distribution | null): void;
  /** Route requests for `hostname` to the Worker; null removes the route. */
  setHostname(hostname: string, workerUid: ResourceUid | null): void;
  /** Invocations of the Version that have not provably ended (WV-91). */
  contextsOf(versionUid: ResourceUid): number;
  /** Cancel every invocation of the Version; resolves only with proof that none of its code can run (WD-44, WD-45). */
  retire(versionUid: ResourceUid): Promise<void>;
  /** Check a hostname the way a client would meet it. */
  probe(hostname: string): Promise<RouteProbe>;
}
