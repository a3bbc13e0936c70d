// What the host keeps in an actor's own store, so that it changes in one transaction with nothing else and survives with
// it: the alarm and the sockets. Its names start with `_atoll_`, which no statement of a tenant reaches.
//
//   H1. The next alarm and the delivery in progress are two rows; setting or clearing the next one leaves the other (AN-103).
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { invariant } from "../../base/invariant.ts";

export const HOST_TABLES = 2;
export const HOST_SCHEMA = `
  CREATE TABLE _atoll_alarm (
    slot TEXT PRIMARY KEY CHECK (slot IN ('next', 'owed')),
    at_ms INTEGER NOT NULL,
    attempts INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE _atoll_socket (id TEXT PRIMARY KEY, attachment BLOB) WITHOUT ROWID;
`;

const SQL = {
  alarm: "SELECT at_ms, attempts FROM _atoll_alarm WHERE slot = ?1",
  setNext: `INSERT INTO _atoll_alarm (slot, at_ms, attempts) VALUES ('next', ?1, 0)
            ON CONFLICT (slot) DO UPDATE SET at_ms = ?1`,
  clearNext: "DELETE FROM _atoll_alarm WHERE slot = 'next'",
  // The check of the key makes a second debt impossible.
  owe: "UPDATE _atoll_alarm SET slot = 'owed', attempts = 0 WHERE slot = 'next'",
  failed: "UPDATE _atoll_alarm SET attempts = attempts + 1 WHERE slot = 'owed'",
  settle: "DELETE FROM _atoll_alarm WHERE slot = 'owed'",
  putSocket: `INSERT INTO _atoll_socket (id, attachment) VALUES (?1, ?2)
              ON CONFLICT (id) DO UPDATE SET attachment = ?2`,
  removeSocket: "DELETE FROM _atoll_socket WHERE id = ?1",
  socket: "SELECT id, attachment FROM _atoll_socket WHERE id = ?1",
  sockets: "SELECT id, attachment FROM _atoll_socket ORDER BY id",
} as const;

/** A delivery that is owed until a handler has finished normally (AN-104). */
export interface OwedAlarm {
  readonly atMs: number;
  /** Deliveries that failed so far. */
  readonly attempts: number;
}

export interface StoredSocket {
  readonly id: string;
  /** At most 16384 bytes (AN-133). */
  readonly attachment: Uint8Array | null;
}

export const ATTACHMENT_BYTES_MAX = 16_384;

/** How the rows are reached: each write is a transaction of its own, made durable like a tenant's. */
export interface HostConnection {
  read<T>(work: () => T): T;
  write<T>(work: () => T): T;
}

export class HostTables {
  readonly #database: DatabaseSync;
  readonly #connection: HostConnection;
  readonly #statements = new Map<keyof typeof SQL, StatementSync>();

  constructor(database: DatabaseSync, connection: HostConnection) {
    this.#database = database;
    this.#connection = connection;
  }

  /** The time of the next alarm in Unix milliseconds; null when none is set (AN-101). */
  nextAlarm(): number | null {
    return this.#alarm("next")?.atMs ?? null;
  }

  owedAlarm(): OwedAlarm | null {
    return this.#alarm("owed");
  }

  /** Set or replace the next alarm (AN-99). `atMs` is an integer of 0 … 2^53 - 1. */
  setNextAlarm(atMs: number): void {
    invariant(Number.isSafeInteger(atMs) && atMs >= 0, "an alarm's time is a whole number of milliseconds");
    this.#change("setNext", BigInt(atMs));
  }

  /** AN-102: also when none is set. */
  clearNextAlarm(): void {
    if (this.nextAlarm() === null) return;
    this.#change("clearNext");
  }

  /** The next alarm becomes the delivery in progress. Nothing may be owed already (AN-A17). */
  oweNextAlarm(): void {
    invariant(this.owedAlarm() === null && this.nextAlarm() !== null, "one alarm is delivered at a time");
    this.#change("owe");
  }

  /** The delivery failed and stays owed. */
  alarmFailed(): void {
    this.#change("failed");
  }

  /** The delivery's handler has finished normally. */
  settleAlarm(): void {
    this.#change("settle");
  }

  /** Add a socket or replace its attachment; the bytes are copied. */
  putSocket({ id, attachment }: StoredSocket): void {
    invariant((attachment?.length ?? 0) <= ATTACHMENT_BYTES_MAX, "an attachment has at most 16384 bytes");
    this.#change("putSocket", id, attachment);
  }

  removeSocket(id: string): void {
    this.#change("removeSocket", id);
  }

  socket(id: string): StoredSocket | null {
    return this.#rows("socket", id).map(toSocket)[0] ?? null;
  }

  /** In the order of their ids as code points (AN-129). */
  sockets(): StoredSocket[] {
    return this.#rows("sockets").map(toSocket);
  }

  #alarm(slot: "next" | "owed"): OwedAlarm | null {
    const [row] = this.#rows("alarm", slot);
    return row === undefined ? null : { atMs: Number(row[0]), attempts: Number(row[1]) };
  }

  #rows(name: keyof typeof SQL, ...values: readonly unknown[]): readonly (readonly unknown[])[] {
    return this.#connection.read(() => this.#statement(name).all(...(values as never[])) as never);
  }

  #change(name: keyof typeof SQL, ...values: readonly unknown[]): void {
    this.#connection.write(() => this.#statement(name).run(...(values as never[])));
  }

  #statement(name: keyof typeof SQL): StatementSync {
    let statement = this.#statements.get(name);
    if (statement === undefined) {
      statement = this.#database.prepare(SQL[name]);
      this.#statements.set(name, statement);
    }
    return statement;
  }
}

function toSocket([id, attachment]: readonly unknown[]): StoredSocket {
  return { id: id as string, attachment: attachment as Uint8Array | null };
}
