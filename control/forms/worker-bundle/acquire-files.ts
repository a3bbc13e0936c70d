// Getting all files of a bundle under its limits.
//
//   B1. What is read for one bundle never exceeds the aggregate limit, whatever the sources claim (WB-34): a read in
//       flight reserves the most it may still read.
//   B2. A file is never refused because of a reservation: when the rest of the budget is reserved, it waits.
import { invariant } from "../../../base/invariant.ts";
import { ARTIFACT_BYTES_MAX, BUNDLE_BYTES_MAX } from "../../../base/limits.ts";
import type { ManifestFile } from "./manifest.ts";

/** Reads in flight for one bundle. */
const READS_MAX = 4;

invariant(READS_MAX * ARTIFACT_BYTES_MAX <= BUNDLE_BYTES_MAX, "the first reads never wait for one another");

/** Makes sure of one file of at most `bytesMax` bytes and answers its size; rejects as the acquirer does. */
export type ReadFile = (file: ManifestFile, bytesMax: number) => Promise<number>;

/**
 * The size of every file, in order. Rejects with the failure of one file once no read is in flight any more; a
 * failure that `isFinal` wins over one that may pass, so that no hopeless bundle is tried again.
 */
export async function acquireFiles(
  files: readonly ManifestFile[],
  read: ReadFile,
  isFinal: (failure: unknown) => boolean,
): Promise<readonly number[]> {
  const sizes: number[] = [];
  const failures: unknown[] = [];
  const inFlight = new Set<Promise<void>>();
  let usedBytes = 0;
  let reservedBytes = 0;

  const start = (file: ManifestFile, index: number, bytesMax: number): void => {
    reservedBytes += bytesMax;
    const reading = read(file, bytesMax)
      .then(
        (byteSize) => {
          invariant(byteSize <= bytesMax, "an artifact is larger than the acquirer was told to read");
          sizes[index] = byteSize;
          usedBytes += byteSize;
        },
        (failure: unknown) => {
          failures.push(failure);
        },
      )
      .finally(() => {
        reservedBytes -= bytesMax;
        inFlight.delete(reading);
      });
    inFlight.add(reading);
  };

  for (const [index, file] of files.entries()) {
    const allowance = (): number => Math.min(ARTIFACT_BYTES_MAX, BUNDLE_BYTES_MAX - usedBytes - reservedBytes);
    while (
      failures.length === 0 &&
      (inFlight.size >= READS_MAX || (allowance() < ARTIFACT_BYTES_MAX && inFlight.size > 0))
    ) {
      await Promise.race(inFlight);
    }
    if (failures.length > 0) break;
    start(file, index, allowance());
  }
  await Promise.all(inFlight);
  if (failures.length > 0) throw failures.find(isFinal) ?? failures[0];
  return sizes;
}
