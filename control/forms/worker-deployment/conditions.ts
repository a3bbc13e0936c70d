// The conditions under which a distribution may become effective (WD-11, WD-19 … WD-24), judged from records.
import type { ResourceUid } from "../../../base/ids.ts";
import type { Attachments } from "../attachments.ts";
import type { ControlView, ResourceRecord } from "../form.ts";
import { WORKER_VERSION } from "../form-urls.ts";
import { find } from "../standing.ts";
import { versionStanding } from "../worker-version/offer.ts";

/**
 * - `ready`: every Version is verified and meets everything attached to the Worker.
 * - `waiting`: no condition is known to fail, and one has no verdict yet (WD-35).
 * - `unfit`: a condition fails for certain. `code` is stable and payload-free.
 */
export type Fitness =
  | { readonly type: "ready" }
  | { readonly type: "waiting"; readonly message: string }
  | { readonly type: "unfit"; readonly code: string; readonly message: string };

export function fitnessOf(
  view: ControlView,
  attachments: Attachments,
  worker: ResourceUid,
  versions: readonly ResourceUid[],
): Fitness {
  const records: ResourceRecord[] = [];
  let waitsFor: ResourceUid | null = null;
  for (const uid of versions) {
    const version = find(view, uid, WORKER_VERSION);
    const standing = version === null ? "broken" : versionStanding(version);
    if (version === null || standing === "broken") {
      return { type: "unfit", code: "version_not_ready", message: `WorkerVersion ${uid} is not ready.` };
    }
    if (standing === "pending") waitsFor ??= uid;
    records.push(version);
  }
  const shortfall = attachments.shortfall(view, worker, records);
  if (shortfall?.verdict === "no") {
    return { type: "unfit", code: SHORTFALL_CODES[shortfall.need.kind], message: shortfall.message };
  }
  if (waitsFor !== null) return { type: "waiting", message: `Waits for WorkerVersion ${waitsFor} to be verified.` };
  if (shortfall !== null) return { type: "waiting", message: shortfall.message };
  return { type: "ready" };
}

const SHORTFALL_CODES = {
  http: "http_answer_missing",
  handler: "handler_missing",
  class: "class_missing",
} as const;
