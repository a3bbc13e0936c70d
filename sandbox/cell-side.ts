// The cell's end of the protocol, whatever carries it: owns the realm, parses frames, accounts active time.
import type { Channel, Frame } from "../base/channel.ts";
import { LinkFault, Linker } from "./linker/linker.ts";
import { Outbox } from "./outbox.ts";
import { BLOCK_BYTES_MIN, type LoadModule, type LoadResult, type LoadSpec, type Message, Op } from "./protocol.ts";
import { openRealm, type Realm } from "./realm.ts";

export interface CellEnvironment {
  /** Bytes of heap in use. */
  heapBytes(): number;
  /** Milliseconds, never going back. */
  monotonicMs(): number;
  /** An unguessable string, new at each call. */
  nonce(): string;
}

export class CellSide {
  readonly #outbox: Outbox;
  readonly #environment: CellEnvironment;
  #realm: Realm | null = null;
  #linker: Linker | null = null;
  /** Active milliseconds by invocation since the last pong. */
  readonly #activeMs = new Map<number, number>();
  #spanStartMs = 0;
  readonly #spanOf = new Set<number>();

  constructor(channel: Channel, environment: CellEnvironment) {
    this.#outbox = new Outbox(channel);
    this.#environment = environment;
  }

  receive(frame: Frame): void {
    const messages = JSON.parse(frame.text) as Message[];
    this.#openSpan();
    for (const message of messages) this.#handle(message, frame.blocks);
  }

  #handle(message: Message, blocks: readonly Uint8Array[]): void {
    switch (message[0]) {
      case Op.ping:
        this.#pong(message[1] as number);
        return;
      case Op.load:
        void this.#load(message[1] as unknown as LoadSpec, blocks);
        return;
      case Op.chunk: {
        const [, id, inline, block] = message as unknown as [number, number, string | null, number];
        this.#enter(id);
        this.#realm?.deliver(Op.chunk, id, inline ?? latin1(blocks[block]));
        return;
      }
      default: {
        const [op, id, a, b, c, d, e, f, g] = message as unknown as [number, number, ...(string | number)[]];
        this.#enter(id);
        this.#realm?.deliver(op, id, a, b, c, d, e, f, g);
      }
    }
  }

  // Everything that one frame sets in motion runs before the next macrotask: its duration is the active time of the
  // invocations that the frame spoke of.
  #openSpan(): void {
    this.#spanStartMs = this.#environment.monotonicMs();
    setImmediate(this.#closeSpan);
  }

  readonly #closeSpan = (): void => {
    if (this.#spanOf.size === 0) return;
    const share = (this.#environment.monotonicMs() - this.#spanStartMs) / this.#spanOf.size;
    for (const id of this.#spanOf) this.#activeMs.set(id, (this.#activeMs.get(id) ?? 0) + share);
    this.#spanOf.clear();
  };

  #enter(id: number): void {
    if (id > 0) this.#spanOf.add(id);
  }

  #pong(n: number): void {
    const active = [...this.#activeMs].filter(([, ms]) => ms >= 1).map(([id, ms]) => [id, Math.round(ms)]);
    this.#activeMs.clear();
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
        importModule: (importer, specifier, type, answer) => void this.#import(importer, specifier, type, answer),
      },
      `atoll:${this.#environment.nonce()}`,
    );
    this.#realm = realm;
    this.#linker = new Linker(realm, spec.modules, (module) => contentOf(module, blocks));
    if (!spec.inspect) {
      realm.installEnv(spec.vars, JSON.stringify(spec.secrets), JSON.stringify(spec.services));
    }
    await this.#linker.evaluate(spec.entrypoint);
    const described = JSON.parse(realm.describeExports(spec.entrypoint)) as
      | { handlers: string[]; classes: { name: string; methods: string[] }[] }
      | { name: string; message: string };
    if ("handlers" in described) return { ok: true, handlers: described.handlers, classes: described.classes };
    const code = described.name === "default_export_invalid" ? "default_export_invalid" : "module_evaluation_failed";
    return { ok: false, code, message: described.message };
  }

  async #import(
    importer: string,
    specifier: string,
    type: string,
    answer: (path: string, name: string, message: string) => void,
  ): Promise<void> {
    try {
      answer((await this.#linker?.import(importer, specifier, type)) ?? "", "module_not_found", "no module");
    } catch (error) {
      if (!(error instanceof LinkFault)) answer("", "Error", "the module could not be loaded");
      else answer("", error.code === "module_syntax_error" ? "SyntaxError" : error.code, error.message);
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
