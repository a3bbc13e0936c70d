// WorkerBundle 0.2.0: a verified, immutable set of files, kept under one UID.
//
//   WB.1 Nothing is observed as verified until every byte matched its digest and is durable (WB-43).
//   WB.2 A failed first custody leaves nothing behind: what was pinned is released before the Operation fails with
//        effect `none` (WB-A4). Once custody was complete, pins go only with DELETE, since Versions may need them.
import { AtollError } from "../../../base/errors.ts";
import type { ResourceUid, Sha256Hex } from "../../../base/ids.ts";
import type { Json } from "../../../base/json.ts";
import { MANIFEST_BYTES_MAX } from "../../../base/limits.ts";
import type { ModuleGraph } from "../../../runtime/workers/worker-runtime.ts";
import type { ArtifactAcquirer } from "../../artifacts/acquirer.ts";
import { type ControlView, type FormAdapter, type Outcome, Refusal, type Step, type Subject } from "../form.ts";
import { WORKER_BUNDLE } from "../form-urls.ts";
import { requireUnreferenced } from "../standing.ts";
import { countTry, nextDelayMs, triesOf } from "../tries.ts";
import { acquireFiles } from "./acquire-files.ts";
import { type Manifest, ManifestFault, parseManifest } from "./manifest.ts";
import { graphOf, observeBundle } from "./observation.ts";
import { parseWorkerBundle, type WorkerBundleSpec } from "./spec.ts";

/** What went wrong, in the Form's own codes (WB-A3, published in docs/errors.md). */
interface Failure {
  readonly code: string;
  readonly message: string;
  /** Whether the same attempt may succeed later. */
  readonly mayPass: boolean;
}

export class WorkerBundleForm implements FormAdapter<WorkerBundleSpec> {
  readonly form = WORKER_BUNDLE;
  readonly privateInputs = false;
  readonly #artifacts: ArtifactAcquirer;

  constructor(artifacts: ArtifactAcquirer) {
    this.#artifacts = artifacts;
  }

  parse(spec: Json): WorkerBundleSpec {
    return parseWorkerBundle(spec);
  }

  privateInputNames(): readonly string[] {
    return [];
  }

  references(): readonly [] {
    return [];
  }

  admitCreate(): void {}

  /** WB-8, WB-49, WB-A5. */
  admitUpdate(_view: ControlView, current: Subject<WorkerBundleSpec>, next: WorkerBundleSpec): void {
    const { url, sha256 } = current.spec.artifact;
    if (next.artifact.url === url && next.artifact.sha256 === sha256) return;
    throw new Refusal("invalid_spec", "spec.artifact cannot change; create a new WorkerBundle for other content.");
  }

  /** WB-51. */
  admitDelete(view: ControlView, current: Subject<WorkerBundleSpec>): void {
    requireUnreferenced(view, current.resource);
  }

  initial(): { readonly observed: Record<string, never>; readonly output: Record<string, never> } {
    return { observed: {}, output: {} };
  }

  async execute(step: Step<WorkerBundleSpec>): Promise<Outcome> {
    if (step.action === "delete") return this.#release(step.resource.uid);
    const custody = new Custody(this.#artifacts, step);
    try {
      const graph = await custody.secure();
      const observed = observeBundle(step.spec.artifact.sha256, graph);
      return { type: "succeeded", observed, output: {}, backend: { kept: true } };
    } catch (error) {
      return this.#failed(step, custody.effect, failureOf(error));
    }
  }

  /** WB-52, WB-58. */
  async #release(uid: ResourceUid): Promise<Outcome> {
    await this.#artifacts.release(uid);
    return { type: "succeeded", observed: {}, output: {}, backend: null };
  }

  async #failed(step: Step<WorkerBundleSpec>, effect: "none" | "partial", failure: Failure): Promise<Outcome> {
    const { code, message } = failure;
    const delayMs = failure.mayPass ? nextDelayMs(triesOf(step)) : null;
    if (delayMs !== null) {
      step.note({ ...countTry(step), ...(effect === "partial" && { pinned: true }) }, effect);
      return { type: "unresolved", effect, retryAfterMs: delayMs, code, message };
    }
    if (wasKept(step)) {
      // WB-A6: custody is no longer complete, so it must not be shown; what is left stays tracked under this UID.
      return { type: "failed", effect: "partial", code, message, backend: { kept: true }, observed: {} };
    }
    await this.#artifacts.release(step.resource.uid);
    return { type: "failed", effect: "none", code, message, backend: null };
  }
}

/** One attempt to bring the manifest and all its files into custody, or to confirm that they are (WB-46, WB-50). */
class Custody {
  readonly #artifacts: ArtifactAcquirer;
  readonly #step: Step<WorkerBundleSpec>;
  /** Sizes that an earlier verification of the same content confirmed. */
  readonly #sizes: ReadonlyMap<Sha256Hex, number>;
  #effect: "none" | "partial";

  constructor(artifacts: ArtifactAcquirer, step: Step<WorkerBundleSpec>) {
    this.#artifacts = artifacts;
    this.#step = step;
    this.#sizes = new Map(graphOf(step.resource)?.files.map((file) => [file.sha256, file.byteSize]));
    this.#effect = step.resource.backend?.["pinned"] === true ? "partial" : "none";
  }

  /** What the Operation has established so far. */
  get effect(): "none" | "partial" {
    return this.#effect;
  }

  async secure(): Promise<ModuleGraph> {
    const manifest = await this.#manifest();
    const sizes = await acquireFiles(
      manifest.files,
      (file, bytesMax) => this.#hold(file, bytesMax),
      (failure) => !failureOf(failure).mayPass,
    );
    const files = manifest.files.map(({ path, sha256, mediaType }, index) => {
      return { path, sha256, mediaType, byteSize: sizes[index] ?? 0 };
    });
    return { entrypoint: manifest.entrypoint, files };
  }

  async #manifest(): Promise<Manifest> {
    const { url, sha256 } = this.#step.spec.artifact;
    const { uid, space } = this.#step.resource;
    if (!wasKept(this.#step) || !(await this.#artifacts.holds(sha256, uid))) {
      await this.#artifacts.acquire({ url, sha256, bytesMax: MANIFEST_BYTES_MAX, space, owner: uid });
    }
    if (!wasKept(this.#step)) {
      this.#effect = "partial";
      this.#step.note({ ...this.#step.resource.backend, pinned: true }, "partial");
    }
    return parseManifest(await this.#artifacts.read(sha256));
  }

  /** The source is asked only for content that is not in custody: it need not exist any more (WB-50). */
  async #hold(file: { readonly url: string; readonly sha256: Sha256Hex }, bytesMax: number): Promise<number> {
    const { url, sha256 } = file;
    const { uid, space } = this.#step.resource;
    const known = this.#sizes.get(sha256);
    if (known !== undefined && known <= bytesMax && (await this.#artifacts.holds(sha256, uid))) return known;
    return (await this.#artifacts.acquire({ url, sha256, bytesMax, space, owner: uid })).byteSize;
  }
}

/** Whether custody of this Resource was complete at some time. */
function wasKept(step: Step<WorkerBundleSpec>): boolean {
  return step.resource.backend?.["kept"] === true;
}

/** Rethrows whatever is no verdict about the artifacts: a fault of the Host proves nothing about them. */
function failureOf(error: unknown): Failure {
  if (error instanceof ManifestFault) {
    return { code: "artifact_manifest_invalid", message: error.message, mayPass: false };
  }
  if (error instanceof AtollError && error.code.startsWith("artifact_")) {
    return { code: error.code, message: error.message, mayPass: error.verdict === "try_again" };
  }
  throw error;
}
