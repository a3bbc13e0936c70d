import type { Control } from "../../control/control.ts";
import type { Principals } from "../../control/principals/principals.ts";
import type { HostApiConfig } from "./host-config.ts";

/** What the routes of the Host API work with. */
export interface HostContext {
  readonly control: Control;
  readonly principals: Principals;
  readonly host: HostApiConfig;
}
