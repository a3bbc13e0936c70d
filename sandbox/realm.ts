// One locked-down ShadowRealm, seen from the thread that hosts it. Only primitives and callables cross its wall.
import { REALM_BOOTSTRAP } from "./realm/source.ts";

declare const ShadowRealm: new () => { evaluate(source: string): unknown };

/** What the realm calls on us, with nothing but strings and numbers; nothing here may throw. */
export interface RealmHost {
  /** A message for the host, as JSON text. */
  say(text: string): void;
  /** A chunk of the body that exchange `id` sends, as latin1. */
  sayChunk(id: number, latin1: string): void;
  /**
   * A dynamic import: make the module and its graph ready for evaluation. Answers with JSON, `{"path":…,"chain":[…]}`
   * (see evaluateGraph in the bootstrap) or `{"name":…,"message":…}` of the error to reject with (MW-42).
   */
  importModule(importer: string, specifier: string, type: string): string;
  /** False while so much waits to be sent that whatever can be refused should be. */
  room(): boolean;
  /** From now on the realm works for invocation `id` (0: for none). */
  enter(id: number): void;
  /** The realm works for nobody any more. */
  leave(): void;
}

/** The realm's entry points; see the part of the bootstrap that registers each. */
interface Entries {
  deliver: (op: number, id: number, ...fields: (string | number | boolean | undefined)[]) => void;
  defineModule: (path: string, kind: string, content: string) => string;
  linkModule: (path: string, targets: string, hooked: boolean) => void;
  instantiateModule: (path: string) => string;
  evaluateEntrypoint: (path: string, chain: string, done: (result: string) => void) => void;
  installEnv: (vars: string, secrets: string, services: string) => void;
}

export type Realm = Readonly<Entries>;

type Boot = (
  register: (name: string, fn: unknown) => void,
  say: RealmHost["say"],
  sayChunk: RealmHost["sayChunk"],
  importModule: RealmHost["importModule"],
  room: RealmHost["room"],
  enter: RealmHost["enter"],
  leave: RealmHost["leave"],
  nonce: string,
  usesWasm: boolean,
) => void;

export interface RealmOptions {
  /** An unguessable specifier for the bootstrap's own import in each tenant module. */
  readonly nonce: string;
  /** The bundle lists WebAssembly; otherwise none can be made at run time. */
  readonly usesWasm: boolean;
}

/** Boot a realm. */
export function openRealm(host: RealmHost, { nonce, usesWasm }: RealmOptions): Realm {
  const entries: Partial<Record<keyof Entries, unknown>> = {};
  const boot = new ShadowRealm().evaluate(REALM_BOOTSTRAP) as Boot;
  boot(
    (name, fn) => {
      entries[name as keyof Entries] = fn;
    },
    (text) => host.say(text),
    (id, latin1) => host.sayChunk(id, latin1),
    (importer, specifier, type) => host.importModule(importer, specifier, type),
    () => host.room(),
    (id) => host.enter(id),
    () => host.leave(),
    nonce,
    usesWasm,
  );
  return entries as Realm;
}
