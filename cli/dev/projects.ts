import { loadProject, type Project } from "../project/project.ts";
import { UsageError } from "../usage-error.ts";

export interface LoadedProject {
  readonly project: Project;
  /** As it is written now. */
  readonly load: () => Promise<Project>;
}

/**
 * The projects that run beside `main`: those in `directories`, those that service bindings name, and what these name in
 * turn; a project comes before those that it is bound to, as far as that is possible. Rejects with a UsageError.
 */
export async function projectsWith(main: Project, directories: readonly string[]): Promise<readonly LoadedProject[]> {
  const found = new Map<string, LoadedProject>();
  const waiting = [...directories, ...boundTo(main)];
  for (let directory = waiting.shift(); directory !== undefined; directory = waiting.shift()) {
    const known = found.get(directory);
    // Named again by a later one: it has to come behind that, too.
    found.delete(directory);
    if (known !== undefined) {
      found.set(directory, known);
      continue;
    }
    if (main.file !== null && directory === main.directory) continue;
    const place = directory;
    const load = (): Promise<Project> => loadProject(place);
    const project = await load();
    found.set(directory, { project, load });
    waiting.push(...boundTo(project));
  }
  const names = new Set([main.name]);
  for (const { project } of found.values()) {
    if (names.has(project.name))
      throw new UsageError(`two of the projects are named ${project.name}; names in a Space differ`);
    names.add(project.name);
  }
  return [...found.values()];
}

function boundTo({ services }: Project): string[] {
  return Object.values(services).flatMap(({ project }) => (project === null ? [] : [project]));
}
