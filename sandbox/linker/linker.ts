// Builds a Version's module graph inside a realm: resolves by our rules, compiles and links, and says how to evaluate.
// The same code serves the graph of the entrypoint and every dynamic import.
import type { LoadModule } from "../protocol.ts";
import type { Realm } from "../realm.ts";
import { hasCycle, reachable } from "./order.ts";
import { attributeAgrees, type ModuleKind, resolveSpecifier } from "./resolve.ts";

/** Why a graph cannot be used; `code` is an InspectionFault or, for dynamic imports, the rejecting error's name. */
export class LinkFault extends Error {
  override readonly name = "LinkFault";
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

export interface RealmFailure {
  readonly name: string;
  readonly message: string;
  readonly stack: string;
}

/** A graph that is ready for evaluation. */
export interface Prepared {
  readonly path: string;
  /** What the engine has to enter before `path`; empty for a graph without cycles. */
  readonly chain: readonly string[];
}

/** Content of a module as the realm takes it: text, or bytes as latin1. */
export type ModuleContent = (module: LoadModule) => string;

export class Linker {
  readonly #realm: Realm;
  readonly #content: ModuleContent;
  readonly #modules: ReadonlyMap<string, LoadModule>;
  readonly #kinds: ReadonlyMap<string, ModuleKind>;
  /** Paths that are compiled in the realm, with the paths that their static imports resolved to. */
  readonly #imports = new Map<string, readonly string[]>();
  readonly #linked = new Set<string>();
  /** A module that was found faulty once is not looked at again. */
  readonly #faults = new Map<string, LinkFault>();
  readonly #importsOf = (path: string): readonly string[] => this.#imports.get(path) ?? [];

  constructor(realm: Realm, modules: readonly LoadModule[], content: ModuleContent) {
    this.#realm = realm;
    this.#content = content;
    this.#modules = new Map(modules.map((module) => [module.path, module]));
    this.#kinds = new Map(modules.map((module) => [module.path, module.kind]));
  }

  /** Compile and link the graph below the manifest path `path`. Throws LinkFault. */
  prepare(path: string): Prepared {
    this.#define(path);
    const modules = reachable(path, this.#importsOf);
    const cyclic = hasCycle(path, this.#importsOf);
    this.#link(path, modules, cyclic);
    return { path, chain: cyclic ? modules.slice(1) : [] };
  }

  /**
   * Compile every module that the graphs prepared so far have not reached; what is wrong with one of them shows when it
   * is imported. For an inspection: whatever the compiler cannot finish must not be met first while events are handled.
   */
  compileRest(): void {
    for (const { path, kind } of this.#modules.values()) {
      if (kind !== "javascript" || this.#imports.has(path)) continue;
      try {
        this.#compile(path);
      } catch (error) {
        if (!(error instanceof LinkFault)) throw error;
      }
    }
  }

  /** `import(specifier)` in `importer`. Throws LinkFault (MW-42). */
  prepareImport(importer: string, specifier: string, type: string): Prepared {
    return this.prepare(this.#resolve(specifier, importer, type));
  }

  #resolve(specifier: string, importer: string, type: string): string {
    const resolution = resolveSpecifier(specifier, importer, this.#kinds);
    const shown = JSON.stringify(specifier.slice(0, 200));
    if (resolution.type === "refused") {
      throw new LinkFault(resolution.code, `cannot import ${shown} from ${JSON.stringify(importer)}`);
    }
    const kind = this.#kinds.get(resolution.path);
    if (type !== "" && kind !== undefined && !attributeAgrees(type, kind)) {
      throw new LinkFault("unsupported_media_type", `the import attribute of ${shown} contradicts its media type`);
    }
    return resolution.path;
  }

  /** Compile `path` and everything it imports statically. */
  #define(path: string): void {
    const pending = [path];
    const seen = new Set<string>();
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      if (seen.has(next)) continue;
      seen.add(next);
      if (!this.#imports.has(next)) this.#compile(next);
      pending.push(...this.#importsOf(next));
    }
  }

  #compile(path: string): void {
    const known = this.#faults.get(path);
    if (known !== undefined) throw known;
    try {
      this.#imports.set(path, this.#compileNew(path));
    } catch (error) {
      if (error instanceof LinkFault) this.#faults.set(path, error);
      throw error;
    }
  }

  #compileNew(path: string): readonly string[] {
    const module = this.#modules.get(path);
    if (module === undefined) throw new LinkFault("module_not_found", `no module at ${JSON.stringify(path)}`);
    const parsed = JSON.parse(this.#realm.defineModule(path, module.kind, this.#content(module))) as
      | RealmFailure
      | [string, string][];
    if (Array.isArray(parsed)) return parsed.map(([specifier, type]) => this.#resolve(specifier, path, type));
    const code = module.kind === "javascript" ? "module_syntax_error" : "module_invalid";
    throw new LinkFault(code, `${path}: ${parsed.message}`);
  }

  #link(root: string, modules: readonly string[], cyclic: boolean): void {
    const fresh = modules.filter((path) => !this.#linked.has(path));
    for (const path of fresh) {
      this.#linked.add(path);
      if (this.#kinds.get(path) === "javascript") {
        this.#realm.linkModule(path, this.#importsOf(path).join("\0"), cyclic);
      }
    }
    if (this.#kinds.get(root) !== "javascript") return;
    const result = this.#realm.instantiateModule(root);
    if (result === "") return;
    // An import of a name that nobody exports; it stays so, whoever asks again.
    const fault = new LinkFault("module_syntax_error", (JSON.parse(result) as RealmFailure).message);
    this.#faults.set(root, fault);
    this.#imports.delete(root);
    throw fault;
  }
}

/** What evaluation threw, as the realm told it. */
export function evaluationFault(failure: RealmFailure): LinkFault {
  const where = failure.stack === "" ? "" : `\n${failure.stack}`;
  return new LinkFault("module_evaluation_failed", failure.message + where);
}
