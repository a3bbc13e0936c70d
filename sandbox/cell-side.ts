// The cell's end of the protocol, whatever carries it: owns the realm, parses frames, accounts active time.
import type { Channel, Frame } from "../base/channel.ts";
import { evaluationFault, LinkFault, Linker, type RealmFailure } from "./linker/linker.ts";
import { Outbox } from "./outbox.ts";
import {
  BLOCK_BYTES_MIN,
  type LoadModule,
  type LoadResult,
  type LoadSpec,
  type Message,
  Op,
  usesWasm,
} from "./protocol.ts";
import { openRealm, type Realm } from "./realm.ts";

export interface CellEnvironment {
  /** Bytes of heap in use. */
  heapBytes(): number;
  collectGarbage(): void;
  /** Milliseconds, never going back. */
  monotonicMs(): number;
  /** An unguessable string, new at each call. */
  nonce(): string;
}

/**
 * Text that may be said in one turn of the event loop before the realm is asked to hold back: a tenant that logs or calls
 * in an endless loop must not flood the host.
 */
const TURN_CHARS_MAX = 1_048_576;

export class CellSide {
  readonly #outbox: Outbox;
  readonly #environment: CellEnvironment;
  #realm: Realm | null = null;
  #linker: Linker | null = null;
  /** Active milliseconds by invocation since the last pong; 0 stands for work outside of any. */
  readonly #activeMs = new Map<number, number>();
  /** For whom the realm works, and since when. */
  #activeId: number | null = null;
  #activeSinceMs = 0;

  constructor(channel: Channel, environment: CellEnvironment) {
    this.#outbox = new Outbox(channel);
    this.#environment = environment;
  }

  receive(frame: Frame): void {
    for (const message of JSON.parse(frame.text) as Message[]) this.#handle(message, frame.blocks);
  }

  /** Something that tenant code threw reached the thread; `text` says what is safely known of it. */
  logUncaught(text: string): void {
    if (this.#room()) this.#outbox.push(JSON.stringify([Op.log, 0, "error", text, 1]));
  }

  #handle(message: Message, blocks: readonly Uint8Array[]): void {
    switch (message[0]) {
      case Op.ping:
        if (message[2] === true) this.#environment.collectGarbage();
        this.#pong(message[1] as number);
        return;
      case Op.load:
        void this.#load(message[1] as unknown as LoadSpec, blocks);
        return;
      case Op.chunk: {
        const [, id, inline, block] = message as unknown as [number, number, string | null, number];
        this.#realm?.deliver(Op.chunk, id, inline ?? latin1(blocks[block]));
        return;
      }
      default: {
        const [op, id, a, b, c, d, e, f, g] = message as unknown as [number, number, ...(string | number)[]];
        this.#realm?.deliver(op, id, a, b, c, d, e, f, g);
      }
    }
  }

  #enter(id: number | null): void {
    const nowMs = this.#environment.monotonicMs();
    if (this.#activeId !== null) {
      const sumMs = this.#activeMs.get(this.#activeId) ?? 0;
      this.#activeMs.set(this.#activeId, sumMs + nowMs - this.#activeSinceMs);
    }
    this.#activeId = id;
    this.#activeSinceMs = nowMs;
  }

  #room(): boolean {
    return this.#outbox.charsOfTurn < TURN_CHARS_MAX;
  }

  #pong(n: number): void {
    const active: [number, number][] = [];
    for (const [id, ms] of this.#activeMs) {
      if (ms < 1) continue;
      active.push([id, Math.round(ms)]);
      this.#activeMs.delete(id);
    }
    // What is too little to tell is kept for later, but not for ever.
    if (this.#activeMs.size > 1_000) this.#activeMs.clear();
    this.#outbox.push(JSON.stringify([Op.pong, n, this.#environment.heapBytes(), active]));
    // Answer at once: a pong that waits behind work would read as a blocked cell.
    this.#outbox.flush();
  }

  async #load(spec: LoadSpec, blocks: readonly Uint8Array[]): Promise<void> {
    let result: LoadResult;
    try {
      result = await this.#loadVersion(spec, blocks);
    } catch (error) {
      result =
        error instanceof LinkFault
          ? { ok: false, code: error.code, message: error.message }
          : { ok: false, code: "module_evaluation_failed", message: "the module graph could not be loaded" };
    }
    this.#outbox.push(JSON.stringify([Op.loaded, result]));
  }

  async #loadVersion(spec: LoadSpec, blocks: readonly Uint8Array[]): Promise<LoadResult> {
    const realm = openRealm(
      {
        say: (text) => this.#outbox.push(text),
        sayChunk: (id, text) => this.#sayChunk(id, text),
        importModule: (importer, specifier, type) => this.#prepareImport(importer, specifier, type),
        room: () => this.#room(),
        enter: (id) => this.#enter(id),
        leave: () => {
          this.#enter(null);
          // All is said that this task had to say; waiting for the turn to end would only delay it.
          this.#outbox.flush();
        },
      },
      {
        nonce: `atoll:${this.#environment.nonce()}`,
        usesWasm: usesWasm(spec),
      },
    );
    this.#realm = realm;
    this.#linker = new Linker(realm, spec.modules, (module) => contentOf(module, blocks));
    if (!spec.inspect) {
      realm.installEnv(spec.vars, JSON.stringify(spec.secrets), JSON.stringify(spec.services));
    }
    const { path, chain } = this.#linker.prepare(spec.entrypoint);
    if (spec.inspect) this.#linker.compileRest();
    const described = await new Promise<string>((resolve) => {
      realm.evaluateEntrypoint(path, JSON.stringify(chain), resolve);
    });
    const result = JSON.parse(described) as
      | { handlers: string[]; classes: { name: string; methods: string[] }[] }
      | { invalid: string }
      | RealmFailure;
    if ("handlers" in result) return { ok: true, handlers: result.handlers, classes: result.classes };
    if ("invalid" in result) return { ok: false, code: "default_export_invalid", message: result.invalid };
    throw evaluationFault(result);
  }

  #prepareImport(importer: string, specifier: string, type: string): string {
    try {
      return JSON.stringify(this.#linker?.prepareImport(importer, specifier, type));
    } catch (error) {
      if (!(error instanceof LinkFault)) return '{"name":"Error","message":"the module could not be loaded"}';
      const name = error.code === "module_syntax_error" ? "SyntaxError" : error.code;
      return JSON.stringify({ name, message: error.message.replace(/^SyntaxError: /, "") });
    }
  }

  #sayChunk(id: number, text: string): void {
    if (text.length < BLOCK_BYTES_MIN) {
      this.#outbox.push(`[${Op.chunk},${id},${JSON.stringify(text)},0]`);
      return;
    }
    // A buffer of its own, because its ownership travels with the frame.
    const bytes = new Uint8Array(text.length);
    Buffer.from(bytes.buffer).write(text, "latin1");
    const block = this.#outbox.block(bytes);
    this.#outbox.push(`[${Op.chunk},${id},null,${block}]`);
  }
}

function contentOf(module: LoadModule, blocks: readonly Uint8Array[]): string {
  switch (module.kind) {
    case "javascript":
    case "text":
      return module.source;
    case "bytes":
    case "wasm":
      return latin1(blocks[module.block]);
    case "source-map":
      break;
  }
  return "";
}

function latin1(bytes: Uint8Array | undefined): string {
  if (bytes === undefined) return "";
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}
