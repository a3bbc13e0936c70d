// One locked-down ShadowRealm, seen from the thread that hosts it. Only primitives and callables cross its wall.
import { REALM_BOOTSTRAP } from "./realm/source.ts";

declare const ShadowRealm: new () => { evaluate(source: string): unknown };

/** What the realm calls on us. All strings and numbers; nothing here may throw. */
export interface RealmHost {
  /** A message for the host, as JSON text. */
  say(text: string): void;
  /** A chunk of the body that exchange `id` sends, as latin1. */
  sayChunk(id: number, latin1: string): void;
  /**
   * A dynamic import. Answer with the path of an evaluated module, or "" with an error name and message (MW-42).
   */
  importModule(
    importer: string,
    specifier: string,
    type: string,
    answer: (path: string, name: string, message: string) => void,
  ): void;
}

/** The realm's entry points; see the part of the bootstrap that registers each. */
interface Entries {
  deliver: (op: number, id: number, ...fields: (string | number | boolean | undefined)[]) => void;
  defineModule: (path: string, kind: string, content: string) => string;
  linkModule: (path: string, targets: string) => void;
  instantiateModule: (path: string) => string;
  evaluateComponents: (json: string, done: (result: string) => void) => void;
  describeExports: (path: string) => string;
  installEnv: (vars: string, secrets: string, services: string) => void;
}

export type Realm = Readonly<Entries>;

/** Boot a realm. `nonce` is an unguessable specifier for the bootstrap's own import in each tenant module. */
export function openRealm(host: RealmHost, nonce: string): Realm {
  const entries: Partial<Record<keyof Entries, unknown>> = {};
  const boot = new ShadowRealm().evaluate(REALM_BOOTSTRAP) as (
    register: (name: string, fn: unknown) => void,
    say: RealmHost["say"],
    sayChunk: RealmHost["sayChunk"],
    importModule: RealmHost["importModule"],
    nonce: string,
  ) => void;
  boot(
    (name, fn) => {
      entries[name as keyof Entries] = fn;
    },
    (text) => host.say(text),
    (id, latin1) => host.sayChunk(id, latin1),
    (importer, specifier, type, answer) => host.importModule(importer, specifier, type, answer),
    nonce,
  );
  return entries as Realm;
}
