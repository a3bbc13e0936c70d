// One Worker under development: from its sources to a deployed Version, again and again.
import { dirname, join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { ApiError } from "../client/api-error.ts";
import { bringUp, cleanUp, type Deployed } from "../deploy/deploy.ts";
import { BuildError } from "../deploy/build-error.ts";
import type { DeployInput } from "../deploy/input.ts";
import type { WorkerFiles } from "../deploy/worker-files.ts";
import { prepare } from "../project/prepare.ts";
import type { Project } from "../project/project.ts";
import type { DevHost } from "./dev-host.ts";
import { SourcePositions } from "./source-positions.ts";
import type { Watched } from "./source-watcher.ts";

export interface DevWorkerParts {
  readonly clock: Clock;
  readonly cwd: string;
  /** The project as it is written now. Rejects with a UsageError. */
  readonly load: () => Promise<Project>;
  readonly secrets: (project: Project) => Promise<Readonly<Record<string, string>>>;
  /** Files beside the sources that a deployment depends on. */
  readonly alsoWatch: readonly string[];
  onStuck(): void;
}

/** Versions that stay beside the one in use, so that a request under way and an undo find theirs. */
const VERSIONS_KEPT = 2;
/** Files beside the entry that change what the bundler makes. */
const BUILD_FILES = ["tsconfig.json", "package.json"];

export class DevWorker {
  readonly #parts: DevWorkerParts;
  /** By Version name: log lines tell which Version wrote them. */
  readonly #positions = new Map<string, SourcePositions>();
  #latest: SourcePositions | null = null;
  #inputs: readonly string[] = [];
  /** What is missing may be anywhere; so may what nobody has read yet. */
  #failed = true;
  /** The source at fault, which may be none of those that the last good build was made from. */
  #faulty: string | null = null;
  project: Project;
  /** Null until the Worker has an address. */
  hostname: string | null = null;
  deployed: Deployed | null = null;

  constructor(project: Project, parts: DevWorkerParts) {
    this.project = project;
    this.#parts = parts;
  }

  /** Read, bundle and check the sources. Rejects with a UsageError or a BuildError whose places are the author's. */
  async prepare(): Promise<DeployInput> {
    const { load, secrets, clock, cwd } = this.#parts;
    let built: SourcePositions | null = null;
    this.#failed = true;
    this.#faulty = null;
    try {
      this.project = await load();
      const onBuilt = (files: WorkerFiles): void => {
        this.#inputs = files.inputs;
        built = new SourcePositions(files, dirname(this.project.main), cwd);
      };
      const onStuck = (): void => this.#parts.onStuck();
      const input = await prepare(this.project, await secrets(this.project), { clock, onStuck, onBuilt });
      this.#failed = false;
      this.#latest = built;
      // Under development every Worker that answers HTTP can be asked, and each save gets all of the traffic.
      const { endpoint: _, weight: __, ...rest } = input;
      return rest;
    } catch (error) {
      if (!(error instanceof BuildError)) throw error;
      const positions = built as SourcePositions | null;
      const fault = positions === null ? error : placed(error, positions, cwd);
      this.#faulty = fault.place?.file ?? null;
      throw fault;
    }
  }

  /** Rejects with ApiError. */
  async deploy(host: DevHost, input: DeployInput): Promise<Deployed> {
    const positions = this.#latest;
    try {
      const deployed = await bringUp({ ...host, say: () => {} }, input);
      if (positions !== null) this.#remember(deployed.versionName, positions);
      this.deployed = deployed;
      this.hostname = deployed.hostname;
      return deployed;
    } catch (error) {
      this.#failed = true;
      throw error instanceof ApiError && error.code === "missing_service" ? withProjectHint(error) : error;
    }
  }

  /** Remove what earlier saves left on the node. Never holds up a deployment, so it is a step of its own. */
  async tidy(host: DevHost): Promise<void> {
    if (this.deployed !== null) await cleanUp({ ...host, say: () => {} }, this.deployed, VERSIONS_KEPT);
  }

  positionsOf(versionName: string): SourcePositions | null {
    return this.#positions.get(versionName) ?? this.#latest;
  }

  /** What a next build depends on. */
  get watched(): Watched {
    const { directory, file, main } = this.project;
    const beside = [...new Set([directory, dirname(main)])];
    const files = [
      main,
      ...this.#inputs,
      ...(file === null ? [] : [file]),
      ...(this.#faulty === null ? [] : [this.#faulty]),
      ...this.#parts.alsoWatch,
      ...beside.flatMap((place) => BUILD_FILES.map((name) => join(place, name))),
    ];
    return { files, anywhereIn: this.#failed ? beside : [] };
  }

  #remember(versionName: string, positions: SourcePositions): void {
    this.#positions.delete(versionName);
    this.#positions.set(versionName, positions);
    for (const name of this.#positions.keys()) {
      if (this.#positions.size <= VERSIONS_KEPT + 1) return;
      this.#positions.delete(name);
    }
  }
}

/** What failed in the bundle, said about the sources. */
function placed(error: BuildError, positions: SourcePositions, cwd: string): BuildError {
  if (error.place !== null) return error;
  const { text, first } = positions.map(error.message);
  if (first === null || first.source === null) return new BuildError(text);
  const { line, column, source } = first;
  const lineText = source.split(/\r?\n/)[line - 1] ?? "";
  return new BuildError(text, { place: { file: join(cwd, first.file), line, column, length: 1, lineText } });
}

function withProjectHint(error: ApiError): ApiError {
  return new ApiError(error.code, error.message, {
    hint: 'name its directory with --with, or in atoll.json as { "worker": …, "project": … }',
  });
}
