import type { Clock } from "../../base/clock.ts";
import { handlersOf } from "../deploy/handlers.ts";
import type { DeployInput } from "../deploy/input.ts";
import { buildWorkerFiles } from "../deploy/worker-files.ts";
import type { Project } from "./project.ts";

/**
 * Everything that a deployment of the project needs, made from its sources. Rejects with a BuildError. `onStuck` is
 * called when its code cannot be stopped, see handlersOf.
 */
export async function prepare(
  project: Project,
  secrets: Readonly<Record<string, string>>,
  parts: { readonly clock: Clock; readonly onStuck: () => void },
): Promise<DeployInput> {
  const files = await buildWorkerFiles(project.main);
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
