import type { ArtifactUpload } from "../../control/artifacts/upload.ts";
import type { Control } from "../../control/control.ts";
import type { Principals } from "../../control/principals/principals.ts";
import type { Telemetry } from "./telemetry.ts";

/** What the routes of the operator API work with. */
export interface OperatorContext {
  readonly control: Control;
  readonly principals: Principals;
  readonly artifacts: ArtifactUpload;
  /** Null for a control plane that runs no Workers: then there are no logs, no metrics and no test clock. */
  readonly telemetry?: Telemetry | null;
}
