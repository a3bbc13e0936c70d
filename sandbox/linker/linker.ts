// Builds a Version's module graph inside a realm: resolves by our rules, links, and evaluates in the order of the
// language. The same code serves the graph of the entrypoint and every dynamic import.
import type { LoadModule } from "../protocol.ts";
import type { Realm } from "../realm.ts";
import { evaluationOrder } from "./order.ts";
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

interface RealmFailure {
  readonly name: string;
  readonly message: string;
  readonly stack: string;
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

  constructor(realm: Realm, modules: readonly LoadModule[], content: ModuleContent) {
    this.#realm = realm;
    this.#content = content;
    this.#modules = new Map(modules.map((module) => [module.path, module]));
    this.#kinds = new Map(modules.map((module) => [module.path, module.kind]));
  }

  /** Define, link and evaluate the graph below `path`. Rejects with LinkFault. */
  async evaluate(path: string): Promise<void> {
    this.#define(path);
    this.#link(path);
    await this.#run(path);
  }

  /** `import(specifier)` in `importer`: the path of the evaluated module; rejects with LinkFault (MW-42). */
  async import(importer: string, specifier: string, type: string): Promise<string> {
    const path = this.#resolve(specifier, importer, type);
    await this.evaluate(path);
    return path;
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
      pending.push(...(this.#imports.get(next) ?? []));
    }
  }

  #compile(path: string): void {
    const module = this.#modules.get(path);
    if (module === undefined) throw new LinkFault("module_not_found", `no module at ${JSON.stringify(path)}`);
    const parsed = JSON.parse(this.#realm.defineModule(path, module.kind, this.#content(module))) as
      | RealmFailure
      | [string, string][];
    if (!Array.isArray(parsed)) {
      const code = module.kind === "javascript" ? "module_syntax_error" : "module_invalid";
      throw new LinkFault(code, `${path}: ${parsed.message}`);
    }
    this.#imports.set(
      path,
      parsed.map(([specifier, type]) => this.#resolve(specifier, path, type)),
    );
  }

  #link(root: string): void {
    const fresh = this.#reachable(root).filter((path) => !this.#linked.has(path));
    for (const path of fresh) {
      this.#linked.add(path);
      if (this.#kinds.get(path) === "javascript") {
        this.#realm.linkModule(path, (this.#imports.get(path) ?? []).join("\0"));
      }
    }
    if (fresh.length === 0 || this.#kinds.get(root) !== "javascript") return;
    const result = this.#realm.instantiateModule(root);
    if (result !== "") throw fault("module_syntax_error", result);
  }

  #reachable(root: string): string[] {
    const found = new Set([root]);
    for (const path of found) for (const target of this.#imports.get(path) ?? []) found.add(target);
    return [...found];
  }

  async #run(root: string): Promise<void> {
    const components = evaluationOrder(root, (path) => this.#imports.get(path) ?? []).map((one) => one.members);
    const result = await new Promise<string>((resolve) => {
      this.#realm.evaluateComponents(JSON.stringify(components), resolve);
    });
    if (result !== "") throw fault("module_evaluation_failed", result);
  }
}

function fault(code: string, json: string): LinkFault {
  const failure = JSON.parse(json) as RealmFailure;
  const where = failure.stack === "" ? "" : `\n${failure.stack}`;
  return new LinkFault(code, failure.message + where);
}
