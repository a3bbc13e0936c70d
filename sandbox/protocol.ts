// What host and cell say to each other. One protocol for every kind of cell: a frame (base/channel.ts) carries a batch
// of messages as a JSON array of arrays; large byte chunks ride beside the text as blocks. `wire/frame-codec.ts` turns
// a frame into bytes for a cell that is a process.
//
// Two kinds of conversations run over it:
//   - an *exchange* has a request and a response, each with an optional streamed body. The host opens exchanges to run
//     events (positive ids); a cell opens exchanges for what tenant code calls (negative ids).
//   - everything else is a single message.
//
//   P1. A body sender never has more than BODY_WINDOW_BYTES unacknowledged bytes under way; the receiver grants credit as
//       its consumer takes bytes. So a slow reader bounds the memory of the whole path (MW-47).
//   P2. Of each body exactly one ending arrives (`end` or `error`) unless its receiver cancelled it or the exchange failed.
//   P3. An exchange ends for the host with `done` (all code of the invocation has settled) or with the cell's end.

/** Opcodes. Small integers keep a message short; the names are the documentation. */
export const Op = {
  /** host→cell [op, id, method, url, headers, body, inline]: run the `fetch` handler. */
  fetch: 0,
  /** host→cell [op, id, handler, json]: run `scheduled` or another event without a response body. */
  event: 1,
  /** host→cell [op, id, reason]: the event's origin went away; abort its signal and cancel its bodies. */
  abort: 2,
  /** both [op, id, latin1 | null, block]: a piece of the body that the sender of this message produces. */
  chunk: 3,
  /** both [op, id]: that body is complete. */
  end: 4,
  /** both [op, id, message]: that body broke off. */
  error: 5,
  /** both [op, id, bytes]: the receiver's consumer took so many bytes. */
  credit: 6,
  /** both [op, id]: the receiver wants no more of that body. */
  cancel: 7,
  /**
   * host→cell [op, id, status, statusText, headers, body, inline, url, redirected]: the response of a call.
   * cell→host [op, id, status, statusText, headers, body, inline, bytes, done]: the response of an invocation; `done` when
   * the invocation has ended with it, so that nearly every request takes one message.
   */
  head: 8,
  /** both [op, id, code, message]: the exchange has no response and never will. */
  fail: 9,
  /** cell→host [op, id]: the invocation has ended: response body finished or cancelled, waitUntil settled. */
  done: 10,
  /** host→cell [op, json, …]: load a Version; blocks carry binary modules. */
  load: 11,
  /** cell→host [op, json]: what loading came to. */
  loaded: 12,
  /** cell→host [op, id, level, message, source]: a console line (source 0), or what the invocation threw (1). */
  log: 13,
  /** cell→host [op, id, invocation, kind, target, method, url, headers, body, inline, redirect]: tenant code calls out. */
  call: 14,
  /** host→cell [op, n, collect]: give a sign of life, with `collect` after a garbage collection. */
  ping: 15,
  /** cell→host [op, n, heapBytes, [[invocation, activeMs] …]]. */
  pong: 16,
} as const;

/** How a body travels: not at all, whole inside the message, or as a stream of chunks. */
export const Body = { none: 0, inline: 1, stream: 2 } as const;
export type BodyKind = (typeof Body)[keyof typeof Body];

export type Message = readonly [op: number, ...fields: (string | number | boolean | null | readonly unknown[])[]];

/** Bytes of one body that may be under way without credit. */
export const BODY_WINDOW_BYTES = 256 * 1024;
/** A body up to this size travels inside its head. */
export const INLINE_BODY_BYTES_MAX = 16 * 1024;
/** A chunk from this size travels as a block beside the text. */
export const BLOCK_BYTES_MIN = 4 * 1024;
/** A larger chunk is cut, so that no single message pins much memory. */
export const CHUNK_BYTES_MAX = 128 * 1024;

/** Header lists travel as one string: name NUL value NUL name … . Neither part can contain NUL. */
export const HEADER_SEPARATOR = "\u0000";

/** What a cell is told when it loads a Version. */
export interface LoadSpec {
  readonly workerName: string;
  readonly versionUid: string;
  readonly entrypoint: string;
  /** `source` for text-like modules; `block` for the index of the bytes of the others. */
  readonly modules: readonly LoadModule[];
  readonly handlers: readonly string[];
  /** JSON text of the vars. */
  readonly vars: string;
  readonly secrets: Readonly<Record<string, string>>;
  readonly services: readonly string[];
  /** Only report what the graph exports, with every module compiled; no handler will be called. */
  readonly inspect: boolean;
}

export type LoadModule =
  | { readonly path: string; readonly kind: "javascript" | "text"; readonly source: string }
  | { readonly path: string; readonly kind: "bytes" | "wasm"; readonly block: number }
  | { readonly path: string; readonly kind: "source-map" };

/** Whether the bundle lists WebAssembly, which only the end of a process is sure to stop. */
export function usesWasm({ modules }: LoadSpec): boolean {
  return modules.some(({ kind }) => kind === "wasm");
}

export type LoadResult =
  | {
      readonly ok: true;
      readonly handlers: readonly string[];
      readonly classes: readonly { readonly name: string; readonly methods: readonly string[] }[];
    }
  | { readonly ok: false; readonly code: string; readonly message: string };

/** Kinds of calls that a cell may open (Op.call). */
export type CallKind = "egress" | "service";
