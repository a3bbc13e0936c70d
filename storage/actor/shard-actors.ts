// The stores of a shard's actors, seen from where the log is: who has which store open, what the log still has to keep,
// and how a store is brought up to what the log says.
//
//   A1. A store is open at most once. What arrives from an opening that has ended changes nothing.
//   A2. Before a store is opened, its file holds exactly what the log says. After a clean close it does already; in any
//       other case (crash, lost cell) the records since its last sync are put into it again.
//   A3. A record leaves the log only after the file that it went into is synced, and the file's name with it.
//   A4. A file is joined only to records of its own lineage.
//   A5. After a purge nothing of the namespace comes back, neither its files nor its records.
import { AtollError } from "../../base/errors.ts";
import { invariant } from "../../base/invariant.ts";
import type { LogEntry } from "../shard-log/log-scan.ts";
import type { ShardLog } from "../shard-log/shard-log.ts";
import type { ActorFiles } from "./actor-files.ts";
import { type ActorKey, logKey, parseLogKey } from "./actor-key.ts";
import { decodeCommit } from "./commit-payload.ts";
import type { CommitSink } from "./commit-sink.ts";
import { CommitLedger, type LedgerEntry } from "./commit-ledger.ts";

/** Kinds of records in the shard's log. */
const KIND = {
  /** Commits of one store: see `commit-payload`. */
  commit: 1,
  /** The store's file holds everything up to the sequence in the payload (decimal). */
  settled: 2,
  /** The namespace in the key has been purged. */
  purged: 3,
} as const;

/** One opening of a store. */
export interface Opening {
  /** For `ActorStore.open`, once. */
  readonly path: string;
  readonly sink: CommitSink;
  /**
   * The store is closed for good: as `ActorStore.close` said, or "lost" when its holder has ended, proven by the end of
   * its thread or process.
   */
  readonly closed: (how: "clean" | "lost") => void;
}

interface Session {
  readonly path: string;
  lastSequence: number;
}

export interface Upkeep {
  /** An actor with more than this in the log gets a checkpoint. */
  readonly actorBytesMax: number;
  /** With more than this in the log, the actors that keep its oldest part get one. */
  readonly logBytesMax: number;
}

/** Collects what a log says about actors while it is opened; pass `visit` to `ShardLog.open`. */
export class ActorReplay {
  readonly ledger = new CommitLedger();

  readonly visit = ({ kind, key, payload, sequence, place }: LogEntry): void => {
    if (kind === KIND.commit) {
      this.ledger.add(key, { sequence, place, born: decodeCommit(asBuffer(payload)).born });
    } else if (kind === KIND.settled) {
      this.ledger.settled(key, Number(asBuffer(payload).toString()));
    } else if (kind === KIND.purged) {
      this.ledger.forget(`${key}/`);
    }
  };
}

export class ShardActors {
  readonly #log: ShardLog;
  readonly #files: ActorFiles;
  readonly #ledger: CommitLedger;
  /** By log key; null while a store is being prepared. */
  readonly #sessions = new Map<string, Session | null>();
  /** Closed stores whose files hold all that the log has, in the system's cache at least. */
  readonly #whole = new Set<string>();

  constructor(log: ShardLog, files: ActorFiles, replay: ActorReplay) {
    this.#log = log;
    this.#files = files;
    this.#ledger = replay.ledger;
  }

  /**
   * Prepare the actor's store for one opening (A2); a store that does not exist yet is made. Rejects `store_damaged`
   * when file and log do not belong together, `log_damaged` or `log_broken` when the log cannot tell.
   */
  async open(key: ActorKey): Promise<Opening> {
    const name = logKey(key);
    this.#reserve(name);
    try {
      await this.#makeWhole(key);
      this.#whole.delete(name);
      const session: Session = { path: this.#files.link(key), lastSequence: 0 };
      this.#sessions.set(name, session);
      return this.#opening(key, session);
    } catch (error) {
      this.#sessions.delete(name);
      throw error;
    }
  }

  /** Stores that should be brought to rest in their files, by key: open ones by their holder, closed ones by `settle`. */
  due({ actorBytesMax, logBytesMax }: Upkeep): { readonly open: ActorKey[]; readonly closed: ActorKey[] } {
    const excess = this.#log.retainedBytes - logBytesMax;
    const [first, last] = [this.#log.firstSequence, this.#log.lastSequence];
    // The oldest part of the log that would have to go, taking its records for equally large.
    const share = excess <= 0 ? 0 : Math.ceil(((last - first + 1) * excess) / this.#log.retainedBytes);
    const horizon = share === 0 ? 0 : first + share;
    const due: { open: ActorKey[]; closed: ActorKey[] } = { open: [], closed: [] };
    for (const name of this.#ledger.due({ actorBytesMax, horizon })) {
      due[this.#sessions.has(name) ? "open" : "closed"].push(parseLogKey(name));
    }
    return due;
  }

  /** Sync the file of a store that is closed, so that the log need not keep its records. An open one is left alone. */
  async settle(key: ActorKey): Promise<void> {
    const name = logKey(key);
    const entry = this.#ledger.get(name);
    if (entry === null || this.#sessions.has(name)) return;
    this.#reserve(name);
    try {
      await this.#makeWhole(key);
      this.#whole.add(name);
      await this.#files.sync(key);
      this.#settled(name, lastOf(entry));
    } finally {
      this.#sessions.delete(name);
    }
  }

  /** Let the log drop what no actor needs any more (A3). */
  async trim(): Promise<void> {
    await this.#log.release(this.#ledger.oldestSequence() ?? this.#log.lastSequence + 1);
  }

  /** Remove everything of one namespace, durably (AN-112, A5). None of its stores is open. */
  async purge(namespace: string): Promise<void> {
    const prefix = `${namespace}/`;
    for (const name of this.#sessions.keys())
      invariant(!name.startsWith(prefix), "a purged namespace has no open store");
    // The record first: a crash in between leaves files that the next try removes, and never records without files.
    const { sequence } = this.#log.append({ kind: KIND.purged, key: namespace, payload: new Uint8Array(0) });
    await this.#log.synced(sequence);
    this.#ledger.forget(prefix);
    for (const name of this.#whole) if (name.startsWith(prefix)) this.#whole.delete(name);
    await this.#files.purge(namespace);
  }

  /** Nobody else may open the store until the reservation is turned into a session or deleted (A1). */
  #reserve(name: string): void {
    invariant(!this.#sessions.has(name), "a store is open at most once");
    this.#sessions.set(name, null);
  }

  #opening(key: ActorKey, session: Session): Opening {
    const name = logKey(key);
    const requireLive = (): void => {
      if (this.#sessions.get(name) === session) return;
      throw new AtollError("context_expired", "this opening of the store has ended");
    };
    const sink: CommitSink = {
      committed: async (payload) => {
        requireLive();
        const { sequence, place } = this.#log.append({ kind: KIND.commit, key: name, payload });
        session.lastSequence = sequence;
        this.#ledger.add(name, { sequence, place, born: decodeCommit(asBuffer(payload)).born });
        await this.#log.durable(sequence);
      },
      synced: async () => {
        requireLive();
        await this.#log.synced(session.lastSequence);
      },
      checkpointed: async () => {
        requireLive();
        const entry = this.#ledger.get(name);
        if (entry !== null) await this.#settledOpen(key, name, entry.records[0]?.born === true, lastOf(entry));
      },
    };
    const closed = (how: "clean" | "lost"): void => {
      requireLive();
      this.#sessions.delete(name);
      this.#files.discard(session.path);
      if (this.#ledger.get(name) !== null) {
        if (how === "clean") this.#whole.add(name);
      } else if (this.#files.lineage(key) === 0n) {
        // It was only looked at; an actor that stores nothing takes no room.
        this.#files.forget(key);
      }
    };
    return { path: session.path, sink, closed };
  }

  async #makeWhole(key: ActorKey): Promise<void> {
    const name = logKey(key);
    const entry = this.#ledger.get(name);
    const lineage = this.#files.lineage(key);
    if (entry === null) {
      // Nothing was ever acknowledged of a store without lineage and without records.
      if (lineage === null || lineage === 0n) this.#files.reset(key);
      return;
    }
    if (this.#whole.has(name)) return;
    // A file never holds what the log may still lose.
    await this.#log.synced(lastOf(entry));
    const [oldest] = entry.records;
    invariant(oldest !== undefined, "an entry has records");
    const first = decodeCommit(this.#log.read(oldest.place));
    if (first.born) this.#files.reset(key);
    else if (lineage !== first.lineage) throw strangers();
    this.#files.redo(key, this.#frames(entry, first.lineage));
  }

  *#frames({ records }: LedgerEntry, lineage: bigint): Generator<Uint8Array> {
    for (const { place } of records) {
      const commit = decodeCommit(this.#log.read(place));
      if (commit.lineage !== lineage) throw strangers();
      yield commit.frames;
    }
  }

  async #settledOpen(key: ActorKey, name: string, born: boolean, through: number): Promise<void> {
    if (born) await this.#files.syncName(key);
    this.#settled(name, through);
  }

  #settled(name: string, through: number): void {
    // Only saves work at the next start, so nobody waits for it.
    this.#log.append({ kind: KIND.settled, key: name, payload: Buffer.from(String(through)) });
    this.#ledger.settled(name, through);
    if (this.#ledger.get(name) === null) this.#whole.delete(name);
  }
}

function lastOf({ records }: LedgerEntry): number {
  return records.at(-1)?.sequence ?? 0;
}

/** The same bytes, not a copy. */
function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function strangers(): AtollError {
  return new AtollError("store_damaged", "an actor's file and its records in the log are of different origins", {
    hint: "restore the shard's directory from a backup as a whole, never single files of it",
  });
}
