import { dlopen, FFIType, ptr } from "bun:ffi";
import { closeSync, constants, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";

export interface DirectSupport {
  /** Writes can go past the page cache (O_DIRECT). */
  readonly direct: boolean;
  /** Space can be taken before it is written to (fallocate). */
  readonly preallocates: boolean;
}

const BLOCK_BYTES = 4_096;
const PREALLOCATED_BYTES = 1 << 20;

/** Try both in `directory`. Leaves nothing behind; throws the platform's error when not even a file can be made. */
export function probeDirect(directory: string): DirectSupport {
  const path = join(directory, "direct-probe");
  const file = openSync(path, "wx", 0o600);
  try {
    return { preallocates: preallocate(file), direct: writeDirect(path) };
  } finally {
    closeSync(file);
    rmSync(path, { force: true });
  }
}

function preallocate(file: number): boolean {
  const libc = dlopen("libc.so.6", {
    fallocate: { args: [FFIType.i32, FFIType.i32, FFIType.i64, FFIType.i64], returns: FFIType.i32 },
  });
  try {
    return libc.symbols.fallocate(file, 0, 0, PREALLOCATED_BYTES) === 0;
  } finally {
    libc.close();
  }
}

function writeDirect(path: string): boolean {
  let file: number;
  try {
    file = openSync(path, constants.O_WRONLY | constants.O_DIRECT);
  } catch {
    return false;
  }
  try {
    // Memory, length and offset all have to be multiples of the block.
    const memory = new Uint8Array(2 * BLOCK_BYTES);
    const start = (BLOCK_BYTES - (ptr(memory) % BLOCK_BYTES)) % BLOCK_BYTES;
    return writeSync(file, memory.subarray(start, start + BLOCK_BYTES), 0, BLOCK_BYTES, 0) === BLOCK_BYTES;
  } catch {
    return false;
  } finally {
    closeSync(file);
  }
}
