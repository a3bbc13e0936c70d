// Resources that demand something of every Version which may get a Worker's events, and the check that holds both
// sides together (WD-20 … WD-27).
//
//   T1. The check runs at acceptance on both sides: of a Deployment against what is attached, and of an attachment
//       against what is or is going to be weighted. Both count Operations that are accepted and unfinished, and
//       acceptance is one serial transaction, so no two of them can succeed and leave a distribution that fails (WD-24).
//   T2. A new Form that attaches to Workers joins by one entry in the registry and one call of `requireOffered`.
import type { FormUrl, ResourceUid } from "../../base/ids.ts";
import { type ControlView, Refusal, type ResourceRecord } from "./form.ts";
import { WORKER_VERSION } from "./form-urls.ts";
import { find } from "./standing.ts";
import { deploymentOf, reachableVersions } from "./worker-deployment/distribution.ts";
import { meets, type Need, needText } from "./worker-version/offer.ts";

/** What one undeleted Resource demands of a Worker. */
export interface Demand {
  readonly worker: ResourceUid;
  readonly need: Need;
}

/** A Form whose Resources make demands. */
export interface AttachmentForm {
  readonly form: FormUrl;
  /** How messages call the source of the demand, with its article. */
  readonly label: string;
  /** Reads the accepted spec, whatever has become of its Operation (WD-23). */
  demands(record: ResourceRecord): readonly Demand[];
}

/** A demand that a Version does not meet, or not for certain yet. */
export interface Shortfall {
  readonly verdict: "no" | "unknown";
  readonly need: Need;
  /** Says what to change; names no Resource of others. */
  readonly message: string;
}

export class Attachments {
  readonly #forms: ReadonlyMap<FormUrl, AttachmentForm>;

  constructor(forms: readonly AttachmentForm[]) {
    this.#forms = new Map(forms.map((it) => [it.form, it]));
  }

  /** The worst shortfall of these Versions against everything attached to the Worker; null when all is met. */
  shortfall(view: ControlView, worker: ResourceUid, versions: readonly ResourceRecord[]): Shortfall | null {
    let undecided: Shortfall | null = null;
    for (const record of view.referrersOf(worker)) {
      const form = this.#forms.get(record.form);
      for (const { need } of form?.demands(record).filter((it) => it.worker === worker) ?? []) {
        for (const version of versions) {
          const verdict = meets(version, need);
          if (verdict === "yes") continue;
          const by = form?.label ?? "an attachment";
          const found = { verdict, need, message: shortfallText(version.uid, need, by) } as const;
          if (verdict === "no") return found;
          undecided ??= found;
        }
      }
    }
    return undecided;
  }
}

/**
 * The other side: every Version that may get the Worker's events has to meet `need` before an attachment is accepted.
 * Throws Refusal(`dependency_conflict`) on a certain shortfall, `resource_busy` while there is no verdict. A Worker
 * without a Deployment passes; a Form that needs one asks `deploymentOf` first.
 */
export function requireOffered(view: ControlView, worker: ResourceUid, need: Need): void {
  const deployment = deploymentOf(view, worker);
  if (deployment === null) return;
  const verdicts = reachableVersions(deployment).map((uid) => {
    const version = find(view, uid, WORKER_VERSION);
    return version === null ? "no" : meets(version, need);
  });
  if (verdicts.includes("no")) {
    const message = `Every WorkerVersion that the Worker's WorkerDeployment weights must ${needText(need)}.`;
    throw new Refusal("dependency_conflict", message);
  }
  if (verdicts.includes("unknown")) {
    throw new Refusal("resource_busy", "A WorkerVersion of the Worker is still being verified; try again shortly.");
  }
}

function shortfallText(version: ResourceUid, need: Need, by: string): string {
  return `WorkerVersion ${version} must ${needText(need)}, because ${by} is attached to the Worker.`;
}
