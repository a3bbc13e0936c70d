// One row of the bench: one question, put to every peer in the same way. A new row is one object in rows/ and one line
// in rows/registry.ts.
import type { Peer } from "./peer.ts";

export interface Row {
  /** Selects the row on the command line. */
  readonly name: string;
  /** The question, in one line. */
  readonly title: string;
  readonly metrics: readonly Metric[];
  /** By name of the peer: which durability its side gives, or whatever else a fair reader must know. Peers without an entry sit out. */
  readonly gives: Readonly<Record<string, string>>;
  /** Set one peer up. What this does is never measured. */
  open(peer: Peer, settings: Settings): Promise<Subject>;
}

export interface Metric {
  readonly name: string;
  readonly unit: string;
  /** Which direction is good. */
  readonly better: "more" | "less";
}

/** One peer, ready to be measured. Subjects of one row exist side by side and are measured in turn. */
export interface Subject {
  /** Run it once without looking; absent when there is nothing to warm up. */
  warmUp?(): Promise<void>;
  /** Measure once: a value for every metric of the row. Rejects when the peer gave a wrong answer. */
  sample(): Promise<Sample>;
  close(): Promise<void>;
}

export type Sample = Readonly<Record<string, number>>;

export interface Settings {
  /** How long a load lasts. */
  readonly seconds: number;
  /** Open connections of a load. */
  readonly connections: number;
  /** An empty directory for the subject. */
  readonly scratch: string;
}

export const STATELESS = "nothing is stored, so there is nothing to lose";
