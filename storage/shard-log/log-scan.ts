// Reading a log back: which of its records count, and whether all that may have been acknowledged are still there.
//
//   R1. Records come out in the order of their sequences, without a gap.
//   R2. What an owner wrote after a later one had taken over is passed over. A later owner's first segment names the
//       sequence from which on it is the only one to be believed.
//   R3. What is broken at the end is dropped only when no intact record after it says that it had been synced, and no
//       later segment starts beyond it. Everything else is `log_damaged`, and the message names segment and byte.
import { AtollError } from "../../base/errors.ts";
import type { LogDisk, LogFile } from "./log-disk.ts";
import {
  isIntact,
  KIND_OF_LOG,
  keyAt,
  payloadAt,
  readHeader,
  RECORD_HEADER_BYTES,
  RECORD_MAGIC,
  recordBytes,
} from "./log-record.ts";
import { decodeSegmentHeader, parseSegmentName, SEGMENT_HEADER_BYTES, seedOf } from "./segment.ts";
import { SegmentWindow } from "./segment-window.ts";

/** Where a record lies. */
export interface LogPlace {
  readonly segment: string;
  readonly position: number;
  readonly bytes: number;
}

export interface LogEntry {
  readonly sequence: number;
  readonly epoch: number;
  readonly kind: number;
  readonly key: string;
  /** A view that is valid during the visit only. */
  readonly payload: Uint8Array;
  readonly place: LogPlace;
}

export interface ScannedSegment {
  readonly name: string;
  readonly epoch: number;
  readonly firstSequence: number;
  /** `firstSequence - 1` when it holds no record that counts. */
  readonly lastSequence: number;
  /** Where its last record ends. */
  readonly end: number;
  /** From where on its records may be in the system's cache only. */
  readonly unsyncedFrom: number;
}

export interface ScannedLog {
  /** Null for a log without a single segment. */
  readonly logIdentity: string | null;
  /** In order. The last one may hold records that no sync has covered yet. */
  readonly segments: readonly ScannedSegment[];
  /** Segments that hold nothing that counts. */
  readonly superseded: readonly string[];
  readonly lastSequence: number;
  readonly lastEpoch: number;
}

interface Named {
  readonly name: string;
  readonly epoch: number;
  readonly firstSequence: number;
}

/** Read the whole log and show every record that counts to `visit` (R1, R2). Throws `log_damaged` (R3). */
export function scanLog(disk: LogDisk, visit: (entry: LogEntry) => void): ScannedLog {
  const named = namedSegments(disk);
  const segments: ScannedSegment[] = [];
  const superseded: string[] = [];
  let logIdentity: string | null = null;
  let lastSequence = 0;
  for (const [index, segment] of named.entries()) {
    const takenOverAt = takeOver(named, index);
    // One that ends where it starts still tells the log's identity and how far the log had come.
    if (segment.firstSequence > takenOverAt) {
      superseded.push(segment.name);
      continue;
    }
    if (segments.length > 0 && segment.firstSequence !== lastSequence + 1) {
      throw damaged(named[index - 1]?.name ?? segment.name, segments.at(-1)?.end ?? 0);
    }
    const isLast = !named.slice(index + 1).some((later) => later.firstSequence > segment.firstSequence);
    const file = disk.open(segment.name);
    try {
      const scanned = scanSegment(file, segment, { takenOverAt, isLast, logIdentity }, visit);
      if (scanned === null) {
        superseded.push(segment.name);
        continue;
      }
      logIdentity = scanned.logIdentity;
      segments.push(scanned);
      lastSequence = scanned.lastSequence;
    } finally {
      file.close();
    }
  }
  return { logIdentity, segments, superseded, lastSequence, lastEpoch: named.at(-1)?.epoch ?? 0 };
}

function namedSegments(disk: LogDisk): Named[] {
  const named: Named[] = [];
  for (const name of disk.list()) {
    const parsed = parseSegmentName(name);
    if (parsed !== null) named.push({ name, ...parsed });
  }
  return named.sort((a, b) => a.epoch - b.epoch || a.firstSequence - b.firstSequence);
}

/** The sequence from which on a later owner's log replaces that of the segment at `index`. */
function takeOver(named: readonly Named[], index: number): number {
  const epoch = named[index]?.epoch ?? 0;
  return named
    .slice(index + 1)
    .filter((later) => later.epoch > epoch)
    .reduce((earliest, { firstSequence }) => Math.min(earliest, firstSequence), Number.POSITIVE_INFINITY);
}

interface Surroundings {
  readonly takenOverAt: number;
  readonly isLast: boolean;
  readonly logIdentity: string | null;
}

/** Null for a segment that was made but not yet used when its owner died. */
function scanSegment(
  file: LogFile,
  named: Named,
  around: Surroundings,
  visit: (entry: LogEntry) => void,
): (ScannedSegment & { readonly logIdentity: string }) | null {
  const window = new SegmentWindow(file);
  const header = decodeSegmentHeader(window.view(0, SEGMENT_HEADER_BYTES));
  if (header === null) {
    // Nothing in it was ever acknowledged: the header is covered by the first sync of the segment.
    const seed = around.logIdentity === null ? null : seedOf(around.logIdentity);
    if (around.isLast && (seed === null ? !window.holdsAnything() : !hasWitness(window, 0, named, seed))) return null;
    throw damaged(named.name, 0);
  }
  const { logIdentity, epoch, firstSequence } = header;
  const foreign = around.logIdentity !== null && logIdentity !== around.logIdentity;
  if (foreign || epoch !== named.epoch || firstSequence !== named.firstSequence) throw damaged(named.name, 0);

  const seed = seedOf(logIdentity);
  const starts: number[] = [];
  let syncedThrough = 0;
  let sequence = firstSequence;
  let at = SEGMENT_HEADER_BYTES;
  for (; sequence < around.takenOverAt; sequence++) {
    const bytes = readRecord(window, at, named, sequence, seed, visit);
    if (bytes === null) break;
    starts.push(at);
    syncedThrough = Math.max(syncedThrough, bytes.syncedThrough);
    at += bytes.length;
  }
  const complete = sequence >= around.takenOverAt;
  if (!complete && hasWitness(window, at, { ...named, firstSequence: sequence }, seed)) throw damaged(named.name, at);
  return {
    logIdentity,
    name: named.name,
    epoch,
    firstSequence,
    lastSequence: sequence - 1,
    end: at,
    unsyncedFrom: starts[Math.max(0, syncedThrough + 1 - firstSequence)] ?? at,
  };
}

function readRecord(
  window: SegmentWindow,
  at: number,
  { name, epoch }: Named,
  sequence: number,
  seed: number,
  visit: (entry: LogEntry) => void,
): { readonly length: number; readonly syncedThrough: number } | null {
  const length = intactLength(window, at, seed);
  if (length === null) return null;
  const bytes = window.view(at, length);
  const header = readHeader(bytes, 0);
  if (header === null || header.epoch !== epoch || header.sequence !== sequence) return null;
  if (header.kind !== KIND_OF_LOG) {
    visit({
      sequence,
      epoch,
      kind: header.kind,
      key: keyAt(bytes, 0, header),
      payload: payloadAt(bytes, 0, header),
      place: { segment: name, position: at, bytes: length },
    });
  }
  return { length, syncedThrough: header.syncedThrough };
}

/** The length of the intact record at `at`; null when there is none. */
function intactLength(window: SegmentWindow, at: number, seed: number): number | null {
  const header = readHeader(window.view(at, RECORD_HEADER_BYTES), 0);
  if (header === null) return null;
  const length = recordBytes(header.keyBytes, header.payloadBytes);
  if (length > window.size - at) return null;
  const bytes = window.view(at, length);
  return bytes.length === length && isIntact(bytes, 0, seed) ? length : null;
}

/** Whether an intact record beyond `from` says that the record `firstSequence` had been synced (R3). */
function hasWitness(window: SegmentWindow, from: number, { epoch, firstSequence }: Named, seed: number): boolean {
  for (let at = window.find(RECORD_MAGIC, from); at !== null; at = window.find(RECORD_MAGIC, at + 8)) {
    const header = readHeader(window.view(at, RECORD_HEADER_BYTES), 0);
    if (header === null || header.epoch !== epoch || header.syncedThrough < firstSequence) continue;
    if (intactLength(window, at, seed) !== null) return true;
  }
  return false;
}

function damaged(segment: string, position: number): AtollError {
  return new AtollError("log_damaged", `the shard's log is damaged in segment ${segment} at byte ${position}`, {
    hint: "restore the shard's directory from a backup; records after that place may have been acknowledged",
  });
}
