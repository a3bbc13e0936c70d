import {
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { ensureDir, syncDirectory } from "../disk/durable-file.ts";
import type { LogDisk, LogFile } from "./log-disk.ts";

const fdatasyncLater = promisify(fdatasync);

/** The log's directory on a real file system. */
export class PlatformLogDisk implements LogDisk {
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  /** Use the directory, making it, durably, when it is missing. */
  static async open(directory: string): Promise<PlatformLogDisk> {
    await ensureDir(directory, 0o700);
    return new PlatformLogDisk(directory);
  }

  list(): readonly string[] {
    return readdirSync(this.#directory);
  }

  create(name: string): LogFile {
    const flags = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL;
    return new PlatformLogFile(openSync(join(this.#directory, name), flags, 0o600));
  }

  open(name: string): LogFile {
    return new PlatformLogFile(openSync(join(this.#directory, name), constants.O_RDWR));
  }

  remove(name: string): void {
    rmSync(join(this.#directory, name));
  }

  async syncNames(): Promise<void> {
    await syncDirectory(this.#directory);
  }
}

class PlatformLogFile implements LogFile {
  readonly #descriptor: number;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  write(bytes: Uint8Array, position: number): number {
    return writeSync(this.#descriptor, bytes, 0, bytes.length, position);
  }

  size(): number {
    return fstatSync(this.#descriptor).size;
  }

  read(into: Uint8Array, position: number): number {
    return readSync(this.#descriptor, into, 0, into.length, position);
  }

  async sync(): Promise<void> {
    await fdatasyncLater(this.#descriptor);
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}
