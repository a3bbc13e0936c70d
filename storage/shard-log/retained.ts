// The segments that a log keeps, and what happens to them when it is opened.
import type { LogDisk } from "./log-disk.ts";
import type { ScannedLog, ScannedSegment } from "./log-scan.ts";
import { SEGMENT_HEADER_BYTES, segmentName } from "./segment.ts";
import { writeFully } from "./segment-writer.ts";

/** A segment as the open log knows it. */
export interface Segment {
  readonly name: string;
  readonly firstSequence: number;
  lastSequence: number;
  /** Where its next record will start. */
  end: number;
}

/** A segment that holds nothing yet. */
export function newSegment(epoch: number, firstSequence: number): Segment {
  const name = segmentName(epoch, firstSequence);
  return { name, firstSequence, lastSequence: firstSequence - 1, end: SEGMENT_HEADER_BYTES };
}

/**
 * Write what no sync has provably covered once more, and sync it (L5). A sync alone would not do: after one that failed,
 * the system may hold bytes in its cache that it takes for written and that are not on the disk.
 */
export async function rewriteTail(disk: LogDisk, segment: ScannedSegment | undefined): Promise<void> {
  if (segment === undefined) return;
  const file = disk.open(segment.name);
  try {
    for (let at = segment.unsyncedFrom; at < segment.end; ) {
      const bytes = Buffer.allocUnsafeSlow(Math.min(1 << 20, segment.end - at));
      const count = file.read(bytes, at);
      writeFully(file, bytes.subarray(0, count), at);
      at += count;
    }
    await file.sync();
  } finally {
    file.close();
  }
}

/** Remove what holds no record that counts; the rest, ready to be appended to the list. */
export async function dropEmpty(disk: LogDisk, { segments, superseded }: ScannedLog): Promise<Segment[]> {
  const kept: Segment[] = [];
  const empty = [...superseded];
  for (const { name, firstSequence, lastSequence, end } of segments) {
    if (lastSequence < firstSequence) empty.push(name);
    else kept.push({ name, firstSequence, lastSequence, end });
  }
  for (const name of empty) disk.remove(name);
  if (empty.length > 0) await disk.syncNames();
  return kept;
}
