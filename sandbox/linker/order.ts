// What the engine has to be told about a module graph before it evaluates it in the order of the language (MW-43): the
// graph's cycles confuse its driver, and then it needs the list of all modules; see evaluateGraph in the realm.

/** Everything reachable from `root` over static imports, `root` first, in the order of a depth-first walk. */
export function reachable(root: string, importsOf: (path: string) => readonly string[]): string[] {
  return walk(root, importsOf).found;
}

/** True when some module of the graph below `root` imports itself, directly or through others. */
export function hasCycle(root: string, importsOf: (path: string) => readonly string[]): boolean {
  return walk(root, importsOf).cyclic;
}

/** Iterative, because a hostile bundle may chain 512 modules. */
function walk(
  root: string,
  importsOf: (path: string) => readonly string[],
): { readonly found: string[]; readonly cyclic: boolean } {
  const found = new Set<string>();
  /** Modules whose imports are being walked: meeting one of them again closes a cycle. */
  const open = new Set<string>();
  const frames: { readonly path: string; readonly imports: readonly string[]; next: number }[] = [];
  let cyclic = false;
  const enter = (path: string): void => {
    found.add(path);
    open.add(path);
    frames.push({ path, imports: importsOf(path), next: 0 });
  };
  enter(root);
  for (let frame = frames.at(-1); frame !== undefined; frame = frames.at(-1)) {
    const target = frame.imports[frame.next++];
    if (target === undefined) {
      open.delete(frame.path);
      frames.pop();
    } else if (open.has(target)) cyclic = true;
    else if (!found.has(target)) enter(target);
  }
  return { found: [...found], cyclic };
}
