// Whether a Version's snapshot holds: its bundle, its exports, its Bindings and its secrets (WV-20, WV-52, WV-88).
import type { ResourceUid } from "../../../base/ids.ts";
import type { JsonObject } from "../../../base/json.ts";
import type { HandlerName, InspectReport } from "../../../runtime/workers/worker-runtime.ts";
import type { ControlView, SecretVault } from "../form.ts";
import { WORKER_BUNDLE } from "../form-urls.ts";
import { find } from "../standing.ts";
import { bundleStanding } from "../worker-bundle/observation.ts";
import { BINDING_KINDS } from "./binding-kinds.ts";
import { bindingsOf, type WorkerVersionSpec } from "./spec.ts";

/** A stable, payload-free reason (WV-A5; published in docs/errors.md). */
export interface Fault {
  readonly code: string;
  readonly message: string;
}

/** What can be told from records alone, at any time. */
export interface Custody {
  readonly bundleVerified: boolean;
  readonly resolvedBindings: boolean;
  readonly secretsHeld: boolean;
}

/** Cheap and synchronous: used for verification and whenever a neighbour changed (WV-48, WV-55). */
export function custodyOf(view: ControlView, vault: SecretVault, uid: ResourceUid, spec: WorkerVersionSpec): Custody {
  const bundle = spec.bundle === null ? null : find(view, spec.bundle, WORKER_BUNDLE);
  return {
    bundleVerified: bundle !== null && bundleStanding(bundle) === "verified",
    resolvedBindings: bindingsOf(spec).every(({ field, binding }) => {
      return (BINDING_KINDS[field].provide?.(view, binding) ?? null) !== null;
    }),
    secretsHeld: spec.requiredSensitiveVars.length === 0 || areSecretsHeld(vault, uid),
  };
}

/** WV-87: `bundleVerified` only for a Version with code. */
export function observeVersion(spec: WorkerVersionSpec, custody: Custody, exportsVerified: boolean): JsonObject {
  const { bundleVerified, resolvedBindings, secretsHeld } = custody;
  const ready = exportsVerified && resolvedBindings && secretsHeld && (spec.bundle === null || bundleVerified);
  return { ready, resolvedBindings, ...(spec.bundle !== null && { bundleVerified }) };
}

/** What is missing, in the order in which it is worth repairing; null when nothing is. */
export function faultOfCustody(spec: WorkerVersionSpec, custody: Custody): Fault | null {
  if (spec.bundle !== null && !custody.bundleVerified) {
    return { code: "bundle_not_verified", message: "The WorkerBundle is not verified; verify it by an update of it." };
  }
  if (!custody.resolvedBindings) {
    return { code: "binding_unresolved", message: "The target of a Binding does not exist." };
  }
  if (!custody.secretsHeld) {
    const message = "The secret values are lost or cannot be read; create a new WorkerVersion with them.";
    return { code: "secrets_unavailable", message };
  }
  return null;
}

/** MW-A1, WV-A1: the exported handlers are the declared ones, and no others. */
export function faultOfExports(spec: WorkerVersionSpec, report: InspectReport): Fault | null {
  if (!report.ok) return { code: report.code, message: report.message };
  const exported = report.handlers.toSorted();
  if (exported.join() === spec.handlers.join()) return null;
  const message = `The module exports ${list(exported)}, but spec.handlers declares ${list(spec.handlers)}.`;
  return { code: "handler_mismatch", message };
}

/** A comparison with a map that cannot be the kept one tells only whether the kept one can still be read. */
function areSecretsHeld(vault: SecretVault, uid: ResourceUid): boolean {
  return vault.compare(uid, {}) !== "unknown";
}

function list(handlers: readonly HandlerName[]): string {
  return handlers.length === 0 ? "no handler" : handlers.join(", ");
}
