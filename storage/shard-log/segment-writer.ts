import { invariant } from "../../base/invariant.ts";
import type { LogDisk, LogFile } from "./log-disk.ts";
import { encodeSegmentHeader, SEGMENT_HEADER_BYTES, type SegmentHeader, segmentName } from "./segment.ts";

/** The segment that is being written. Space is taken ahead in zeroed pieces, so that a sync need not move the file's end. */
export class SegmentWriter {
  readonly name: string;
  readonly #file: LogFile;
  readonly #disk: LogDisk;
  readonly #aheadBytes: number;
  #end = SEGMENT_HEADER_BYTES;
  #zeroedTo = 0;
  #nameSynced = false;

  private constructor(disk: LogDisk, name: string, aheadBytes: number) {
    this.name = name;
    this.#disk = disk;
    this.#aheadBytes = aheadBytes;
    this.#file = disk.create(name);
  }

  /** Make the segment's file with its header. Both are durable after the first `sync`. */
  static create(disk: LogDisk, header: SegmentHeader, aheadBytes: number): SegmentWriter {
    const name = segmentName(header.epoch, header.firstSequence);
    const writer = new SegmentWriter(disk, name, aheadBytes);
    writer.#zero(SEGMENT_HEADER_BYTES);
    writeFully(writer.#file, encodeSegmentHeader(header), 0);
    return writer;
  }

  /** Where the next record will start. */
  get end(): number {
    return this.#end;
  }

  append(bytes: Uint8Array, position: number): void {
    invariant(position === this.#end, "records follow each other without a gap");
    this.#zero(position + bytes.length);
    writeFully(this.#file, bytes, position);
    this.#end = position + bytes.length;
  }

  async sync(): Promise<void> {
    await this.#file.sync();
    if (this.#nameSynced) return;
    await this.#disk.syncNames();
    this.#nameSynced = true;
  }

  close(): void {
    this.#file.close();
  }

  #zero(needed: number): void {
    if (needed <= this.#zeroedTo) return;
    const target = Math.ceil(needed / this.#aheadBytes) * this.#aheadBytes;
    writeFully(this.#file, Buffer.alloc(target - this.#zeroedTo), this.#zeroedTo);
    this.#zeroedTo = target;
  }
}

/** Write all of `bytes`; a file system may take them in several bites. */
export function writeFully(file: LogFile, bytes: Uint8Array, position: number): void {
  for (let done = 0; done < bytes.length; ) {
    const count = file.write(bytes.subarray(done), position + done);
    if (count <= 0) throw new Error("the disk took no bytes");
    done += count;
  }
}
