import type { ArtifactUpload } from "../../control/artifacts/upload.ts";
import type { Control } from "../../control/control.ts";
import type { Principals } from "../../control/principals/principals.ts";

/** What the routes of the operator API work with. */
export interface OperatorContext {
  readonly control: Control;
  readonly principals: Principals;
  readonly artifacts: ArtifactUpload;
}
