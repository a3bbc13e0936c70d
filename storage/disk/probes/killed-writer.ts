// Does an acknowledged write survive the death of the process that made it? One process writes and acknowledges until
// somebody kills it; another one kills it and reads what is there.
import { closeSync, fdatasyncSync, openSync, readFileSync, writeSync } from "node:fs";

const RECORD_BYTES = 16;
const RECORDS_MAX = 1_000_000;

/** Append numbered records to the new file `path`, each synced and then acknowledged by its number, from 1. */
export function writeAcknowledged(path: string, acknowledge: (record: number) => void): void {
  const file = openSync(path, "wx", 0o600);
  try {
    for (let record = 1; record <= RECORDS_MAX; record++) {
      writeSync(file, recordText(record));
      fdatasyncSync(file);
      acknowledge(record);
    }
  } finally {
    closeSync(file);
  }
}

/** How many whole records in order the file holds. A torn one at the end was never acknowledged. */
export function countRecords(path: string): number {
  const text = readFileSync(path, "latin1");
  let count = 0;
  while (text.startsWith(recordText(count + 1), count * RECORD_BYTES)) count++;
  return count;
}

function recordText(record: number): string {
  return `${String(record).padStart(RECORD_BYTES - 1, "0")}\n`;
}
