// What a Worker on Atoll is given and what it gives. Types only; every name is global.
//
// The web platform's own classes (Request, Response, streams, URL, crypto, …) come from TypeScript's "WebWorker" library:
//
//   { "compilerOptions": { "lib": ["ESNext", "WebWorker"], "types": ["@atoll/types"] } }

/**
 * The default export of a Worker's main module: a plain object with one function for each kind of event that the Worker
 * takes. Write `export default { … } satisfies ModuleWorker<Env>`.
 *
 * @typeParam Env The variables, secrets and bindings that the project declares, by name.
 */
interface ModuleWorker<Env = unknown> {
  /**
   * Answers an HTTP request, from an address of the Worker or through a service binding. Both bodies are streams. What it
   * throws, and a return value that is no `Response`, becomes an answer with status 500 that tells nothing of the cause.
   */
  fetch?(request: Request, env: Env, ctx: ExecutionContext): Response | Promise<Response>;
  /** Runs when a time that the Worker asked for has come. What it throws is observed as a failed run. */
  scheduled?(event: ScheduledEvent, env: Env, ctx: ExecutionContext): void | Promise<void>;
  /**
   * Takes a batch of messages. Messages that it neither acknowledged nor retried are acknowledged when it returns and
   * retried when it throws. A message can come more than once, so effects outside have to be idempotent.
   */
  queue?(batch: QueueBatch, env: Env, ctx: ExecutionContext): void | Promise<void>;
}

/** The invocation that a handler runs in. */
interface ExecutionContext {
  /**
   * Work that goes on after the answer. The invocation ends when it has settled; an answer that was given is not changed
   * by it, and a rejection goes to the Worker's log.
   *
   * @throws An error named `context_expired` when the invocation has ended.
   */
  waitUntil(promise: Promise<unknown>): void;
}

/** The first argument of `scheduled`. */
interface ScheduledEvent {
  /** When it was due, in Unix milliseconds. */
  readonly scheduledTime: number;
  /** The expression that matched: five fields, in UTC. */
  readonly cron: string;
}

/** The first argument of `queue`: 1 to 100 messages, and the only way to settle them. */
interface QueueBatch {
  readonly batchId: string;
  /** Name of the queue. */
  readonly queue: string;
  readonly messages: readonly QueueMessage[];
  /**
   * The message is done. Resolves when that is durable.
   *
   * @throws An error whose `name` is a {@link QueueSettlementError}.
   */
  acknowledge(messageId: string): Promise<void>;
  /**
   * The message comes again. Resolves when that is durable.
   *
   * @param delaySeconds A whole number from 0 to 43200; by default that of the consumer.
   * @throws An error whose `name` is a {@link QueueSettlementError}.
   */
  retry(messageId: string, delaySeconds?: number): Promise<void>;
  /** Acknowledges every message that is not settled yet. */
  acknowledgeAll(): Promise<void>;
  /** Retries every message that is not settled yet. */
  retryAll(delaySeconds?: number): Promise<void>;
}

interface QueueMessage {
  /** The same at every delivery of this message. */
  readonly id: string;
  /** When it was accepted, in Unix milliseconds. */
  readonly timestampMillis: number;
  /** The bytes that were sent; a copy. */
  readonly body: Uint8Array;
  /** 1 at the first delivery. */
  readonly attempts: number;
}

/** `name` of the errors with which a message cannot be settled. */
type QueueSettlementError = "unknown_batch" | "unknown_message" | "already_settled" | "backend_unavailable";

/**
 * A service binding: another Worker of the same Space, reached inside the Host. The host name of the URL selects nothing.
 * What the other Worker throws is its own answer with status 500; only a call that could not be started rejects, with an
 * error named `backend_unavailable`.
 */
interface WorkerService {
  fetch(request: Request): Promise<Response>;
  fetch(url: string, init?: RequestInit): Promise<Response>;
}

/** Value of a plain variable in `env`. */
type WorkerVariable =
  | null
  | boolean
  | number
  | string
  | readonly WorkerVariable[]
  | { readonly [key: string]: WorkerVariable };

/** The text of the file. */
declare module "*.txt" {
  const text: string;
  export default text;
}

/** The bytes of the file. */
declare module "*.bin" {
  const bytes: ArrayBuffer;
  export default bytes;
}

/** The compiled module; the Worker instantiates it itself. */
declare module "*.wasm" {
  const module: WebAssembly.Module;
  export default module;
}
