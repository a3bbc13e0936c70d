// In which order a module graph has to be evaluated. The engine's own evaluation walks a graph rightly from a given
// module, but its driver enters a cycle at the wrong member; so we hand it the strongly connected components one by
// one, dependencies first, each with the member that the specification would enter first (MW-43).

export interface Component {
  /** The member reached first by a depth-first walk in source order: evaluation has to start here. */
  readonly entry: string;
  /** All members, `entry` first, in the order of the walk. */
  readonly members: readonly string[];
  /** True when the component is a real cycle: several members, or one that imports itself. */
  readonly cyclic: boolean;
}

/**
 * Tarjan's algorithm over the static imports reachable from `root`. Components come dependencies first.
 * Iterative, because a hostile bundle may chain 512 modules.
 */
export function evaluationOrder(root: string, importsOf: (path: string) => readonly string[]): Component[] {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const onStack = new Set<string>();
  const stack: string[] = [];
  const components: Component[] = [];
  const frames: { path: string; imports: readonly string[]; next: number }[] = [];

  const enter = (path: string): void => {
    index.set(path, index.size);
    low.set(path, index.get(path) ?? 0);
    stack.push(path);
    onStack.add(path);
    frames.push({ path, imports: importsOf(path), next: 0 });
  };

  const leave = (path: string, imports: readonly string[]): void => {
    if (low.get(path) !== index.get(path)) return;
    const members = stack.splice(stack.lastIndexOf(path));
    for (const member of members) onStack.delete(member);
    components.push({ entry: path, members, cyclic: members.length > 1 || imports.includes(path) });
  };

  const lower = (path: string, bound: number): void => {
    low.set(path, Math.min(low.get(path) ?? bound, bound));
  };

  enter(root);
  for (let frame = frames.at(-1); frame !== undefined; frame = frames.at(-1)) {
    const target = frame.imports[frame.next++];
    if (target === undefined) {
      frames.pop();
      leave(frame.path, frame.imports);
      const parent = frames.at(-1);
      if (parent !== undefined) lower(parent.path, low.get(frame.path) ?? 0);
    } else if (!index.has(target)) {
      enter(target);
    } else if (onStack.has(target)) {
      lower(frame.path, index.get(target) ?? 0);
    }
  }
  return components;
}
