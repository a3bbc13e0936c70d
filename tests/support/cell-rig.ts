// A cell opened from sources given in a test, with an owner that the test scripts.
import { SystemClock } from "../../base/clock.ts";
import type { Clock } from "../../base/clock.ts";
import { AtollError } from "../../base/errors.ts";
import type { Cell, CellResponse, LogLine, OutboundAnswer, OutboundCall, RequestBody } from "../../sandbox/cell.ts";
import { HEADER_SEPARATOR, type LoadModule, type LoadResult, type LoadSpec } from "../../sandbox/protocol.ts";
import type { CellOptions } from "../../sandbox/hosted-cell.ts";
import { ThreadCell } from "../../sandbox/thread-cell.ts";

/** JavaScript as text; everything else says what it is. */
export type ModuleSource =
  | string
  | { readonly text: string }
  | { readonly bytes: Uint8Array }
  | { readonly wasm: Uint8Array }
  | { readonly sourceMap: true };

export interface RigOptions {
  readonly entrypoint?: string;
  readonly vars?: Readonly<Record<string, unknown>>;
  readonly secrets?: Readonly<Record<string, string>>;
  readonly services?: readonly string[];
  readonly inspect?: boolean;
  readonly cpuMs?: number;
  readonly memoryBytes?: number;
  readonly closeGraceMs?: number;
  readonly clock?: Clock;
  readonly call?: (call: OutboundCall) => Promise<OutboundAnswer>;
  readonly onStuck?: () => void;
  /** The kind of cell; a thread by default. */
  readonly open?: (spec: LoadSpec, blocks: readonly Uint8Array[], options: CellOptions) => Cell;
}

export interface Answer {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly text: string;
  readonly bytes: Uint8Array;
}

export interface Ask {
  readonly method?: string;
  readonly headers?: readonly (readonly [string, string])[];
  readonly body?: RequestBody | string;
}

export class CellRig {
  readonly cell: Cell;
  readonly logs: LogLine[] = [];
  readonly calls: OutboundCall[] = [];
  #stuck = 0;

  constructor(sources: Readonly<Record<string, ModuleSource>>, options: RigOptions = {}) {
    const blocks: Uint8Array[] = [];
    const modules = Object.entries(sources).map(([path, source]) => loadModule(path, source, blocks));
    const spec: LoadSpec = {
      workerName: "w",
      versionUid: "v",
      entrypoint: options.entrypoint ?? modules[0]?.path ?? "",
      modules,
      handlers: ["fetch"],
      vars: JSON.stringify(options.vars ?? {}),
      secrets: options.secrets ?? {},
      services: options.services ?? [],
      inspect: options.inspect ?? false,
    };
    const open = options.open ?? ((...given) => new ThreadCell(...given));
    this.cell = open(spec, blocks, {
      clock: options.clock ?? new SystemClock(),
      limits: { cpuMs: options.cpuMs ?? 5_000, memoryBytes: options.memoryBytes ?? 512 * 2 ** 20 },
      closeGraceMs: options.closeGraceMs ?? 5_000,
      owner: {
        call: (call) => {
          this.calls.push(call);
          if (options.call === undefined) throw new AtollError("egress_refused", "nothing is reachable from here");
          return options.call(call);
        },
        log: (line) => void this.logs.push(line),
      },
      onStuck: () => {
        this.#stuck++;
        options.onStuck?.();
      },
    });
  }

  /** How often the owner was told that the cell cannot be stopped. */
  get stuck(): number {
    return this.#stuck;
  }

  loaded(): Promise<LoadResult> {
    return this.cell.loaded;
  }

  /** The lines printed so far. */
  get lines(): string[] {
    return this.logs.map(({ message }) => message);
  }

  start(path: string, ask: Ask = {}): ReturnType<Cell["fetch"]> {
    const { body = null } = ask;
    const head = {
      method: ask.method ?? (body === null ? "GET" : "POST"),
      url: `https://worker.example${path}`,
      headers: (ask.headers ?? []).flat().join(HEADER_SEPARATOR),
    };
    return this.cell.fetch(head, typeof body === "string" ? new TextEncoder().encode(body) : body);
  }

  /** One request with its whole response. */
  async fetch(path: string, ask: Ask = {}): Promise<Answer> {
    return readAnswer(await this.start(path, ask).result);
  }

  async text(path: string, ask: Ask = {}): Promise<string> {
    return (await this.fetch(path, ask)).text;
  }

  async json(path: string, ask: Ask = {}): Promise<unknown> {
    return JSON.parse(await this.text(path, ask));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cell.stop("retired");
  }
}

/** A rig whose only module has `body` as its fetch handler (parameters `request`, `env`, `ctx`), with `top` before it. */
export function handlerRig(body: string, options: RigOptions = {}, top = ""): CellRig {
  return new CellRig({ "main.js": handlerModule(body, top) }, options);
}

export function handlerModule(body: string, top = ""): string {
  return `${top}\nexport default { async fetch(request, env, ctx) { ${body} } };\n`;
}

export async function readAnswer(response: CellResponse): Promise<Answer> {
  const bytes =
    response.body === null ? new Uint8Array() : new Uint8Array(await new Response(response.body).arrayBuffer());
  return { status: response.status, headers: pairs(response.headers), bytes, text: new TextDecoder().decode(bytes) };
}

export function pairs(flat: string): [string, string][] {
  const parts = flat === "" ? [] : flat.split(HEADER_SEPARATOR);
  const found: [string, string][] = [];
  for (let i = 0; i + 1 < parts.length; i += 2) found.push([parts[i] ?? "", parts[i + 1] ?? ""]);
  return found;
}

/** An answer of the outside world. */
export function outsideAnswer(
  body: OutboundAnswer["body"] | string,
  more: Partial<OutboundAnswer> = {},
): OutboundAnswer {
  return {
    status: 200,
    statusText: "",
    headers: "",
    url: "https://outside.example/",
    redirected: false,
    ...more,
    body: typeof body === "string" ? new TextEncoder().encode(body) : body,
  };
}

function loadModule(path: string, source: ModuleSource, blocks: Uint8Array[]): LoadModule {
  if (typeof source === "string") return { path, kind: "javascript", source };
  if ("text" in source) return { path, kind: "text", source: source.text };
  if ("sourceMap" in source) return { path, kind: "source-map" };
  const wasm = "wasm" in source;
  blocks.push((wasm ? source.wasm : source.bytes).slice());
  return { path, kind: wasm ? "wasm" : "bytes", block: blocks.length - 1 };
}
