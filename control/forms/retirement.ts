// Waiting for proof that no code of some Versions can run any more, without waiting for ever.
import type { Clock } from "../../base/clock.ts";
import type { ResourceUid } from "../../base/ids.ts";
import type { Logger } from "../../base/log.ts";
import type { WorkerRuntime } from "../../runtime/workers/worker-runtime.ts";

/** Then the Operation says that it is still reconciling, and asks again (WD-46). */
const WAIT_MS_MAX = 30_000;

export interface RetirementDeps {
  readonly runtime: WorkerRuntime;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Cancel every invocation of `versions`. The Versions with proof of retirement; one that is missing in the answer may
 * still run, and neither a rejection nor the end of the wait says otherwise (WD-45).
 */
export async function retireVersions(
  deps: RetirementDeps,
  versions: readonly ResourceUid[],
): Promise<ReadonlySet<ResourceUid>> {
  const { runtime, clock, log } = deps;
  const proved = new Set<ResourceUid>();
  const retirements = versions.map((uid) =>
    runtime.retire(uid).then(
      () => proved.add(uid),
      (error: unknown) => log.warn("a Version could not be retired", { version: uid, error }),
    ),
  );
  await new Promise<void>((resolve) => {
    const cancel = clock.after(WAIT_MS_MAX, resolve);
    void Promise.all(retirements).then(() => {
      cancel();
      resolve();
    });
  });
  return new Set(proved);
}
