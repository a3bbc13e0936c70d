// Tells when one of the watched files changes.
//
// Directories are watched, not files: editors save by writing a new file and renaming it, which a watch on the old file
// does not see. A save is often several events, so they are gathered for a moment.
import { type FSWatcher, readdirSync, statSync, watch } from "node:fs";
import { dirname, join } from "node:path";
import type { Clock } from "../../base/clock.ts";

export interface Watched {
  readonly files: readonly string[];
  /** Directories in which what appears or goes matters, with those below them: what is missing may appear there. */
  readonly anywhereIn: readonly string[];
}

const GATHER_MS = 20;
/** How far the times of files lag behind the clock. */
const FILE_TIME_MS = 10;
/** Below a watched directory; a project with more has to be restarted by hand after a failed build. */
const DIRECTORIES_MAX = 500;
const SKIPPED = /^(?:\..*|node_modules|dist)$/;

export class SourceWatcher {
  readonly #clock: Clock;
  readonly #changed: () => void;
  readonly #watchers = new Map<string, FSWatcher>();
  #files = new Set<string>();
  #anywhere = new Set<string>();
  #gathering: (() => void) | null = null;

  constructor(clock: Clock, changed: () => void) {
    this.#clock = clock;
    this.#changed = changed;
  }

  /**
   * Watch these from now on, instead of what was watched before. What changed after `sinceMs` (Unix milliseconds) in a
   * place that nobody watched until now is told, too.
   */
  watch({ files, anywhereIn }: Watched, sinceMs: number): void {
    this.#files = new Set(files);
    this.#anywhere = new Set(anywhereIn.flatMap((directory) => withBelow(directory)));
    const wanted = new Set([...this.#anywhere, ...files.map((file) => dirname(file))]);
    for (const [directory, watcher] of this.#watchers) {
      if (wanted.has(directory)) continue;
      watcher.close();
      this.#watchers.delete(directory);
    }
    const fresh = new Set([...wanted].filter((directory) => !this.#watchers.has(directory)));
    for (const directory of fresh) this.#open(directory);
    const unseen = [
      ...files.filter((file) => fresh.has(dirname(file))),
      ...[...this.#anywhere].filter((directory) => fresh.has(directory)),
    ];
    if (unseen.some((path) => changedAtMs(path) >= sinceMs - FILE_TIME_MS)) this.#gather();
  }

  close(): void {
    this.#gathering?.();
    this.#gathering = null;
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  #open(directory: string): void {
    try {
      const watcher = watch(directory, (event, name) => this.#event(directory, event, name));
      watcher.on("error", () => this.#watchers.delete(directory));
      this.#watchers.set(directory, watcher);
    } catch {
      // A directory that went away has nothing to tell; the build says what is missing.
    }
  }

  #event(directory: string, event: string, name: string | null): void {
    const appeared = event === "rename" && name !== null && this.#anywhere.has(directory) && !SKIPPED.test(name);
    const isOurs = name === null || appeared || this.#files.has(join(directory, name));
    if (isOurs) this.#gather();
  }

  #gather(): void {
    this.#gathering ??= this.#clock.after(GATHER_MS, () => {
      this.#gathering = null;
      this.#changed();
    });
  }
}

function changedAtMs(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function withBelow(root: string): string[] {
  const found = [root];
  for (let i = 0; i < found.length && found.length < DIRECTORIES_MAX; i++) {
    const directory = found[i] ?? root;
    try {
      for (const entry of readdirSync(directory, { withFileTypes: true })) {
        if (entry.isDirectory() && !SKIPPED.test(entry.name)) found.push(join(directory, entry.name));
      }
    } catch {
      // Unreadable or gone: nothing to watch there.
    }
  }
  return found;
}
