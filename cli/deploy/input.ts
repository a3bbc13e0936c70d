import type { Json } from "../../base/json.ts";
import type { HandlerName } from "../../runtime/workers/worker-runtime.ts";
import type { WorkerFiles } from "./worker-files.ts";

/** One Worker as its author wants it on the Host. */
export interface DeployInput {
  readonly name: string;
  readonly space: string;
  readonly files: WorkerFiles;
  readonly handlers: readonly HandlerName[];
  readonly vars: Readonly<Record<string, Json>>;
  /** Values by name. They go to the Host and nowhere else. */
  readonly secrets?: Readonly<Record<string, string>>;
  /** Names of Workers in the same Space by binding name. */
  readonly services?: Readonly<Record<string, string>>;
  /** Whether the Worker has an address; by default when it has a `fetch` handler. */
  readonly endpoint?: boolean;
  /** What this Version gets of the traffic, in basis points; the Versions before it keep the rest. */
  readonly weight?: number;
}
