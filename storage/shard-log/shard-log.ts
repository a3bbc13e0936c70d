// The shard's log: where a shard's changes become durable, in one order, many with one sync.
//
//   L1. `durable(n)` resolves only when the records 1..n survive: the loss of power with "strict", the death of the
//       process with "relaxed". `synced(n)` always means the loss of power.
//   L2. Records lie on disk in the order of their sequences. A segment is used only after the one before it is synced.
//   L3. An owner acknowledges nothing after a later one has claimed the shard: the claim is looked at after each sync
//       and before its acknowledgements. What was synced before the claim is seen by the scan that follows the claim.
//   L4. A failure of the disk breaks the log for good (G3); nothing that waited is ever acknowledged.
//   L5. After `open` everything that was read back is synced, and so may be built upon.
import { AtollError } from "../../base/errors.ts";
import type { Random } from "../../base/random.ts";
import type { LogDisk } from "./log-disk.ts";
import { type LogPhase, nextLogPhase } from "./log-phase.ts";
import {
  isIntact,
  KIND_OF_LOG,
  type LogRecord,
  layOutRecord,
  payloadAt,
  readHeader,
  recordBytes,
  sealRecord,
} from "./log-record.ts";
import { type LogEntry, type LogPlace, scanLog } from "./log-scan.ts";
import { dropEmpty, newSegment, rewriteTail, type Segment } from "./retained.ts";
import { SEGMENT_HEADER_BYTES, type SegmentHeader, seedOf } from "./segment.ts";
import { SegmentWriter } from "./segment-writer.ts";
import { Watermark } from "./watermark.ts";

export interface ShardLogOptions {
  readonly disk: LogDisk;
  /** The epoch that this owner has claimed. */
  readonly epoch: number;
  /** Throws `stale_epoch` once a later owner has claimed the shard. */
  readonly assertCurrent: () => void;
  readonly durability: "strict" | "relaxed";
  readonly random: Random;
  /** A segment that has reached this size gets no further record. */
  readonly segmentBytes?: number;
  /** One sync covers at most about this much, so that nobody waits for a whole backlog. */
  readonly batchBytesMax?: number;
  /** Space is taken ahead in pieces of this size. */
  readonly aheadBytes?: number;
}

const SEGMENT_BYTES = 16 << 20;
const BATCH_BYTES_MAX = 512 << 10;
const AHEAD_BYTES = 1 << 20;
/** "relaxed" syncs on its own after this much, so that the loss of power costs a bounded piece of the past. */
const UNSYNCED_BYTES_MAX = 8 << 20;

interface Pending {
  readonly bytes: Buffer;
  readonly sequence: number;
  readonly segment: string;
  readonly position: number;
}

export class ShardLog {
  readonly #options: Required<ShardLogOptions>;
  readonly #logIdentity: string;
  readonly #seed: number;
  /** In order; the last one is where the next record goes, and may have no file yet. */
  readonly #segments: Segment[];
  readonly #written: Watermark;
  readonly #synced: Watermark;
  #writer: SegmentWriter;
  #state: LogPhase = { phase: "open" };
  #pending: Pending[] = [];
  #backlogBytes = 0;
  #unsyncedBytes = 0;
  #running: Promise<void> | null = null;

  private constructor(
    options: Required<ShardLogOptions>,
    logIdentity: string,
    segments: Segment[],
    writer: SegmentWriter,
    lastSequence: number,
  ) {
    this.#options = options;
    this.#logIdentity = logIdentity;
    this.#seed = seedOf(logIdentity);
    this.#segments = segments;
    this.#writer = writer;
    this.#written = new Watermark(lastSequence);
    this.#synced = new Watermark(lastSequence);
  }

  /**
   * Read the log back, showing every record to `visit` in order, make what was read durable (L5), and start a segment
   * of this owner's epoch. Rejects `log_damaged` when something that may have been acknowledged is missing,
   * `stale_epoch` when a later owner has written to it; nothing has changed then.
   */
  static async open(options: ShardLogOptions, visit: (entry: LogEntry) => void = () => {}): Promise<ShardLog> {
    const complete: Required<ShardLogOptions> = {
      segmentBytes: SEGMENT_BYTES,
      batchBytesMax: BATCH_BYTES_MAX,
      aheadBytes: AHEAD_BYTES,
      ...options,
    };
    const { disk, epoch } = complete;
    const scanned = scanLog(disk, visit);
    if (scanned.lastEpoch >= epoch) {
      throw new AtollError("stale_epoch", `this owner holds epoch ${epoch}, but the log is at ${scanned.lastEpoch}`);
    }
    options.assertCurrent();
    await rewriteTail(disk, scanned.segments.at(-1));
    const logIdentity = scanned.logIdentity ?? Buffer.from(complete.random.bytes(16)).toString("hex");
    const header: SegmentHeader = { epoch, firstSequence: scanned.lastSequence + 1, logIdentity };
    const writer = SegmentWriter.create(disk, header, complete.aheadBytes);
    await writer.sync();
    const segments = await dropEmpty(disk, scanned);
    segments.push(newSegment(epoch, header.firstSequence));
    return new ShardLog(complete, logIdentity, segments, writer, scanned.lastSequence);
  }

  /** The sequence of the newest record. */
  get lastSequence(): number {
    return this.#last.lastSequence;
  }

  /** The oldest sequence that is still kept. */
  get firstSequence(): number {
    return this.#segments[0]?.firstSequence ?? 1;
  }

  /** Bytes on disk that hold records, in all segments. */
  get retainedBytes(): number {
    return this.#segments.reduce((sum, { end }) => sum + end - SEGMENT_HEADER_BYTES, 0);
  }

  /** Bytes that were appended and are not written yet. Whoever appends holds back while this is high. */
  get backlogBytes(): number {
    return this.#backlogBytes;
  }

  get phase(): LogPhase["phase"] {
    return this.#state.phase;
  }

  /**
   * Give the record the next sequence and a place, and see to it that it gets there. The bytes are copied. Throws what
   * ended the log: `log_broken`, `stale_epoch`, or `temporarily_unavailable` after `close`.
   */
  append(record: LogRecord): { readonly sequence: number; readonly place: LogPlace } {
    if (record.kind === KIND_OF_LOG) throw new RangeError("kind 0 belongs to the log itself");
    if (this.#state.phase !== "open") throw this.#refusal();
    return this.#append(record);
  }

  /** Resolves when the records up to `sequence` survive (L1). Rejects with what ended the log before that. */
  durable(sequence: number): Promise<void> {
    return this.#options.durability === "strict" ? this.synced(sequence) : this.#wait(this.#written, sequence);
  }

  /** Resolves when the records up to `sequence` survive the loss of power (L1). */
  synced(sequence: number): Promise<void> {
    return this.#wait(this.#synced, sequence);
  }

  /** The payload of a record that has been written, read from its place. Throws `log_damaged` when it is not intact. */
  read({ segment, position, bytes }: LogPlace): Buffer {
    const file = this.#options.disk.open(segment);
    try {
      const record = Buffer.allocUnsafeSlow(bytes);
      let filled = 0;
      for (let count = -1; filled < bytes && count !== 0; filled += count) {
        count = file.read(record.subarray(filled), position + filled);
      }
      const header = filled === bytes ? readHeader(record, 0) : null;
      const fits = header !== null && recordBytes(header.keyBytes, header.payloadBytes) === bytes;
      if (fits && isIntact(record, 0, this.#seed)) return payloadAt(record, 0, header);
    } finally {
      file.close();
    }
    throw new AtollError("log_damaged", `the shard's log is damaged in segment ${segment} at byte ${position}`);
  }

  /**
   * Remove the segments that hold only records below `sequence`: the caller has made their effects durable elsewhere.
   * Oldest first, one at a time, so that no crash leaves a gap.
   */
  async release(sequence: number): Promise<void> {
    while (this.#segments.length > 1) {
      const [oldest] = this.#segments;
      if (oldest === undefined || oldest.lastSequence >= Math.min(sequence, this.#synced.value + 1)) return;
      if (oldest.name === this.#writer.name) return;
      this.#options.assertCurrent();
      this.#segments.shift();
      this.#options.disk.remove(oldest.name);
      await this.#options.disk.syncNames();
    }
  }

  /**
   * Make everything appended durable, mark the end, and let go of the files. After this, damage anywhere in the log is
   * told from a torn tail. A broken or fenced log just lets go.
   */
  async close(): Promise<void> {
    if (this.#state.phase === "open") {
      this.#state = nextLogPhase(this.#state, { type: "close" });
      // The mark must be written after the sync of what it vouches for.
      await this.synced(this.lastSequence).catch(() => {});
      if (this.#state.phase === "closing") {
        const { sequence } = this.#append({ kind: KIND_OF_LOG, key: "", payload: new Uint8Array(0) });
        await this.synced(sequence).catch(() => {});
      }
    }
    await this.#running;
    if (this.#state.phase === "closing") this.#state = nextLogPhase(this.#state, { type: "closed" });
    this.#writer.close();
  }

  get #last(): Segment {
    return this.#segments.at(-1) as Segment;
  }

  #append(record: LogRecord): { readonly sequence: number; readonly place: LogPlace } {
    const sequence = this.lastSequence + 1;
    const bytes = layOutRecord(record, this.#options.epoch, sequence);
    // One record may be larger than a segment; it then has one to itself.
    const full = this.#last.end > SEGMENT_HEADER_BYTES && this.#last.end + bytes.length > this.#options.segmentBytes;
    if (full) this.#segments.push(newSegment(this.#options.epoch, sequence));
    const segment = this.#last;
    const place: LogPlace = { segment: segment.name, position: segment.end, bytes: bytes.length };
    segment.end += bytes.length;
    segment.lastSequence = sequence;
    this.#pending.push({ bytes, sequence, segment: segment.name, position: place.position });
    this.#backlogBytes += bytes.length;
    this.#kick();
    return { sequence, place };
  }

  #wait(mark: Watermark, sequence: number): Promise<void> {
    const reached = mark.reached(sequence);
    this.#kick();
    return reached;
  }

  #kick(): void {
    if (this.#running !== null || !this.#hasWork()) return;
    // One round of the loop later, so that what is appended in this one shares the sync.
    this.#running = new Promise<void>((resolve) => setImmediate(resolve))
      .then(() => this.#run())
      .finally(() => {
        this.#running = null;
        this.#kick();
      });
  }

  #hasWork(): boolean {
    const live = this.#state.phase === "open" || this.#state.phase === "closing";
    return live && (this.#pending.length > 0 || this.#needsSync());
  }

  #needsSync(): boolean {
    if (this.#synced.value >= this.#written.value) return false;
    if (this.#options.durability === "strict" || this.#unsyncedBytes >= UNSYNCED_BYTES_MAX) return true;
    return this.#synced.awaited > this.#synced.value;
  }

  async #run(): Promise<void> {
    try {
      while (this.#hasWork()) {
        if (this.#pending.length > 0) await this.#writeBatch();
        if (this.#needsSync()) await this.#sync();
      }
    } catch (error) {
      this.#end(error);
    }
  }

  async #writeBatch(): Promise<void> {
    this.#options.assertCurrent();
    const batch = this.#takeBatch();
    const [first] = batch;
    const last = batch.at(-1);
    if (first === undefined || last === undefined) return;
    if (first.segment !== this.#writer.name) await this.#rotate(first.sequence);
    for (const { bytes } of batch) sealRecord(bytes, this.#synced.value, this.#seed);
    const bytes = batch.length === 1 ? first.bytes : Buffer.concat(batch.map((one) => one.bytes));
    this.#writer.append(bytes, first.position);
    this.#backlogBytes -= bytes.length;
    this.#unsyncedBytes += bytes.length;
    if (this.#options.durability === "relaxed") this.#options.assertCurrent();
    this.#written.raise(last.sequence);
  }

  /** The oldest pending records that go into one segment and under one sync. */
  #takeBatch(): Pending[] {
    const segment = this.#pending[0]?.segment;
    let count = 0;
    for (let bytes = 0; count < this.#pending.length && bytes < this.#options.batchBytesMax; count++) {
      const next = this.#pending[count];
      if (next === undefined || next.segment !== segment) break;
      bytes += next.bytes.length;
    }
    return this.#pending.splice(0, count);
  }

  async #rotate(firstSequence: number): Promise<void> {
    if (this.#synced.value < this.#written.value) await this.#sync();
    const header: SegmentHeader = { epoch: this.#options.epoch, firstSequence, logIdentity: this.#logIdentity };
    const next = SegmentWriter.create(this.#options.disk, header, this.#options.aheadBytes);
    this.#writer.close();
    this.#writer = next;
  }

  async #sync(): Promise<void> {
    const through = this.#written.value;
    this.#unsyncedBytes = 0;
    await this.#writer.sync();
    this.#options.assertCurrent();
    this.#synced.raise(through);
  }

  #end(error: unknown): void {
    const fenced = error instanceof AtollError && error.code === "stale_epoch";
    const reason = fenced ? error : broken(error);
    this.#state = nextLogPhase(this.#state, { type: fenced ? "fenced" : "broke", reason });
    this.#pending = [];
    this.#backlogBytes = 0;
    this.#written.fail(reason);
    this.#synced.fail(reason);
  }

  #refusal(): AtollError {
    if ("reason" in this.#state) return this.#state.reason;
    return new AtollError("temporarily_unavailable", "the shard's log is closed");
  }
}

function broken(cause: unknown): AtollError {
  return new AtollError("log_broken", "the disk failed while the shard's log was written", {
    hint: "check the disk and its free space, then start the node again; the log decides then what had been written",
    cause,
  });
}
