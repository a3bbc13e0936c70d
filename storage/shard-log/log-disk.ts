// The port between a shard's log and its disk. Small on purpose: whatever a disk can do wrong can be acted out behind it.

/** One open file of the log. Positions and lengths are in bytes. */
export interface LogFile {
  /** Write at `position`, into the system's cache. May write fewer bytes than given, and returns how many it did. */
  write(bytes: Uint8Array, position: number): number;
  /** Length of the file in bytes. */
  size(): number;
  /** Fill `into` from `position`. Returns how many bytes there were; fewer than asked for means the end of the file. */
  read(into: Uint8Array, position: number): number;
  /** Resolves when everything written before the call survives the loss of power (fdatasync). */
  sync(): Promise<void>;
  close(): void;
}

/** The directory that holds one shard's log, and nothing else. Every method fails with the platform's own error. */
export interface LogDisk {
  list(): readonly string[];
  /** Make a file that does not exist yet, for writing and reading. */
  create(name: string): LogFile;
  /** Open a file for reading and syncing. */
  open(name: string): LogFile;
  remove(name: string): void;
  /** Resolves when the names of the directory survive the loss of power. */
  syncNames(): Promise<void>;
}
