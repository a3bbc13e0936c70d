// What the bench asks of a system under test. A new peer is one file in peers/ and one line in peers/registry.ts.
import { readFileSync } from "node:fs";

/** A Worker that peers run from the same source, as a module path in workers/ or as text. */
export interface WorkerSource {
  /** Lower case letters, digits and dashes. */
  readonly name: string;
  /** One JavaScript module. */
  readonly source: string;
}

export interface Peer {
  /** Names the peer's column, and selects it on the command line. */
  readonly name: string;
  version(): Promise<string>;
  /**
   * Put the Workers in place, so that `start` finds them as after any restart: on disk, none of them loaded.
   * @param scratch an empty directory of this peer's own.
   */
  prepare(workers: readonly WorkerSource[], scratch: string): Promise<Prepared>;
}

export interface Prepared {
  /** Start a process on what was prepared; resolves when it takes requests. Never two at one time. */
  start(): Promise<Running>;
}

export interface Running {
  /** From the start of the process until it said that it takes requests, in milliseconds. */
  readonly readyMs: number;
  /** `performance.now()` when the process was started. */
  readonly startedAtMs: number;
  /** Where requests for the Worker go; the host name has to travel as the Host header. */
  address(worker: string): Address;
  /** Of the process and its children. */
  memory(): Memory;
  stop(): Promise<void>;
}

export interface Address {
  /** Without a path. */
  readonly origin: string;
  readonly host: string;
}

export interface Memory {
  /** All resident pages, also those of the executable file. */
  readonly residentBytes: number;
  /** Resident pages that are backed by no file: what the process itself made. */
  readonly anonymousBytes: number;
}

/** A Worker of workers/. */
export function workerFile(name: string): WorkerSource {
  return { name, source: readFileSync(new URL(`./workers/${name}.js`, import.meta.url), "utf8") };
}
