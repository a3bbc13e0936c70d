// Tells when one of the watched files changes.
//
// Directories are watched, not files: editors save by writing a new file and renaming it, which a watch on the old file
// does not see. A save is often several events, so they are gathered for a moment.
import { type FSWatcher, readdirSync, watch } from "node:fs";
import { dirname, join } from "node:path";
import type { Clock } from "../../base/clock.ts";

export interface Watched {
  readonly files: readonly string[];
  /** Directories in which what appears or goes matters, with those below them: what is missing may appear there. */
  readonly anywhereIn: readonly string[];
}

const GATHER_MS = 20;
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

  /** Watch these from now on, instead of what was watched before. */
  watch({ files, anywhereIn }: Watched): void {
    this.#files = new Set(files);
    this.#anywhere = new Set(anywhereIn.flatMap((directory) => withBelow(directory)));
    const wanted = new Set([...this.#anywhere, ...files.map((file) => dirname(file))]);
    for (const [directory, watcher] of this.#watchers) {
      if (wanted.has(directory)) continue;
      watcher.close();
      this.#watchers.delete(directory);
    }
    for (const directory of wanted) if (!this.#watchers.has(directory)) this.#open(directory);
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
    if (!isOurs || this.#gathering !== null) return;
    this.#gathering = this.#clock.after(GATHER_MS, () => {
      this.#gathering = null;
      this.#changed();
    });
  }
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
