// The contract of a cell: a sandbox that runs one Worker Version. Whatever it is made of (a thread, a process), it keeps
// this contract and passes one conformance suite.
//
//   C1. A cell that is stopped, for whatever reason, ends every open exchange first as failed and then `closed` resolves.
//   C2. `closed` resolves only with proof that no code of the cell can run: the thread's close event or the exit status.
//   C3. After `closed` nothing arrives from the cell.
import type { LoadResult } from "./protocol.ts";

/** Why a cell ended. `cpu` and `memory` are limits; `retired` is our own decision; `crashed` is nobody's. */
export type StopReason = "cpu" | "memory" | "retired" | "crashed";

/** `retired` cells are asked to stop; the others are found out. Only a proof leads to `closed`. */
export type CellPhase =
  | { readonly phase: "starting" }
  | { readonly phase: "live" }
  | { readonly phase: "stopping"; readonly reason: StopReason }
  | { readonly phase: "closed"; readonly reason: StopReason };

export interface RequestHead {
  readonly method: string;
  /** Absolute URL as the tenant will see it. */
  readonly url: string;
  /** name NUL value NUL … */
  readonly headers: string;
}

export type RequestBody = Uint8Array | ReadableStream<Uint8Array> | null;

export interface CellResponse {
  readonly status: number;
  readonly statusText: string;
  /** name NUL value NUL … */
  readonly headers: string;
  readonly body: Uint8Array | ReadableStream<Uint8Array> | null;
  /** Length of a streamed body when it is known. */
  readonly bodyBytes: number | null;
}

/** An event that tenant code is handling. */
export interface Running<Result> {
  /** Unique within its cell. */
  readonly id: number;
  /** Rejects with HandlerFailed or CellStopped. */
  readonly result: Promise<Result>;
  /** Resolves when the invocation has ended (or the cell has); never rejects. */
  readonly ended: Promise<void>;
  /** The event's origin went away. */
  abort(): void;
}

/** The handler threw or returned no Response. Carries nothing of what it threw. */
export class HandlerFailed extends Error {
  override readonly name = "HandlerFailed";
}

/** The cell ended under the exchange. */
export class CellStopped extends Error {
  override readonly name = "CellStopped";
  readonly reason: StopReason;

  constructor(reason: StopReason) {
    super(`the cell stopped: ${reason}`);
    this.reason = reason;
  }
}

/** A call that tenant code makes to the outside. */
export interface OutboundCall {
  readonly kind: "egress" | "service";
  /** Binding name for `service`. */
  readonly target: string;
  readonly invocation: number;
  readonly method: string;
  readonly url: string;
  readonly headers: string;
  readonly body: RequestBody;
  readonly redirect: "follow" | "manual" | "error";
  /** Aborts when tenant code aborts or the cell ends. */
  readonly signal: AbortSignal;
}

export interface OutboundAnswer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: string;
  readonly body: Uint8Array | ReadableStream<Uint8Array> | null;
  readonly url: string;
  readonly redirected: boolean;
}

export interface LogLine {
  readonly invocation: number;
  readonly level: "debug" | "info" | "warn" | "error";
  readonly message: string;
  /** What tenant code printed, or an error that nobody caught. */
  readonly kind: "console" | "error";
}

/** What a cell asks of its owner. */
export interface CellOwner {
  /** Rejects with an AtollError (`backend_unavailable`, `egress_refused`, …); its message reaches tenant code. */
  call(call: OutboundCall): Promise<OutboundAnswer>;
  log(line: LogLine): void;
}

export interface Cell {
  readonly phase: CellPhase;
  /** Resolves when the graph is loaded or refused; rejects with CellStopped. */
  readonly loaded: Promise<LoadResult>;
  /** C2. */
  readonly closed: Promise<StopReason>;
  /** Invocations that have not ended. */
  readonly running: number;
  fetch(head: RequestHead, body: RequestBody): Running<CellResponse>;
  /** Tell every invocation that its origin went away. */
  abortAll(): void;
  /** Resolves when no invocation is open. */
  drained(): Promise<void>;
  /** Run an event handler without a response body; `json` is its first argument. */
  event(handler: string, json: string): Running<unknown>;
  /** End the cell now, whatever it is doing. Idempotent; resolves with the proof. */
  stop(reason: StopReason): Promise<void>;
}
