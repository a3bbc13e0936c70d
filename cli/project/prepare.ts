import type { Clock } from "../../base/clock.ts";
import { handlersOf } from "../deploy/handlers.ts";
import type { DeployInput } from "../deploy/input.ts";
import { buildWorkerFiles, type WorkerFiles } from "../deploy/worker-files.ts";
import type { Project } from "./project.ts";

export interface PrepareParts {
  readonly clock: Clock;
  readonly onStuck: () => void;
  /** Told of the files before their code is looked at. */
  readonly onBuilt?: (files: WorkerFiles) => void;
}

/**
 * Everything that a deployment of the project needs, made from its sources. Rejects with a BuildError. `onStuck` is
 * called when its code cannot be stopped, see handlersOf.
 */
export async function prepare(
  project: Project,
  secrets: Readonly<Record<string, string>>,
  parts: PrepareParts,
): Promise<DeployInput> {
  const files = await buildWorkerFiles(project.main);
  parts.onBuilt?.(files);
  const handlers = project.handlers ?? (await handlersOf(files, parts.clock, parts.onStuck));
  const { name, space, vars, services, endpoint, weight } = project;
  return {
    name,
    space,
    files,
    handlers,
    vars,
    secrets,
    services: Object.fromEntries(Object.entries(services).map(([binding, { worker }]) => [binding, worker])),
    ...(endpoint === undefined ? {} : { endpoint }),
    weight,
  };
}
