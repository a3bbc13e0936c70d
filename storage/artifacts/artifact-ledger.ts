// Who may use which artifact, and who keeps it: the durable book beside the files.
//
//   L1. A blob row exists only while the whole verified file does: the row comes after the file is durable and goes
//       before the file does.
//   L2. A pin belongs to one owning Resource and outlives the blob row: when damaged content is provided again, its
//       owners hold it as before.
//   L3. Every change is one transaction under synchronous=FULL: what a caller was told survives loss of power.
import { Database } from "bun:sqlite";
import { and, eq, exists, getTableColumns, inArray, lte, notExists, sql } from "drizzle-orm";
import { type BunSQLiteDatabase, drizzle } from "drizzle-orm/bun-sqlite";
import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { AtollError } from "../../base/errors.ts";
import type { ResourceUid, Sha256Hex, SpaceName } from "../../base/ids.ts";

const blobs = sqliteTable("blob", {
  sha256: text().$type<Sha256Hex>().primaryKey(),
  byteSize: integer("byte_size").notNull(),
  /** When it was stored or last lost a pin: grants and the grace period count from here. */
  idleSinceMs: integer("idle_since_ms").notNull(),
});

const grants = sqliteTable(
  "use_grant",
  {
    sha256: text().$type<Sha256Hex>().notNull(),
    space: text().$type<SpaceName>().notNull(),
    grantedAtMs: integer("granted_at_ms").notNull(),
  },
  (table) => [primaryKey({ columns: [table.sha256, table.space] })],
);

const pins = sqliteTable(
  "pin",
  {
    sha256: text().$type<Sha256Hex>().notNull(),
    owner: text().$type<ResourceUid>().notNull(),
    space: text().$type<SpaceName>().notNull(),
  },
  (table) => [primaryKey({ columns: [table.sha256, table.owner] }), index("pin_owner").on(table.owner)],
);

/** Each entry runs once, in order; entries are only ever added. */
const MIGRATIONS = [
  `CREATE TABLE blob (sha256 TEXT PRIMARY KEY, byte_size INTEGER NOT NULL, idle_since_ms INTEGER NOT NULL) STRICT;
   CREATE TABLE use_grant (sha256 TEXT NOT NULL, space TEXT NOT NULL, granted_at_ms INTEGER NOT NULL,
     PRIMARY KEY (sha256, space)) STRICT, WITHOUT ROWID;
   CREATE TABLE pin (sha256 TEXT NOT NULL, owner TEXT NOT NULL, space TEXT NOT NULL,
     PRIMARY KEY (sha256, owner)) STRICT, WITHOUT ROWID;
   CREATE INDEX pin_owner ON pin (owner);`,
] as const;

/** The Resource that keeps a blob, and the Space that it lives in. */
export interface Pin {
  readonly owner: ResourceUid;
  readonly space: SpaceName;
}

/** What a stored blob is kept for. */
export interface Uses {
  /** Spaces that may use it from now on. */
  readonly spaces?: readonly SpaceName[];
  readonly pin?: Pin;
}

/** How long content stays that nobody pins, in milliseconds since it was stored, granted or last pinned. */
export interface Retention {
  readonly grantedMs: number;
  readonly ungrantedMs: number;
}

export class ArtifactLedger {
  readonly #sqlite: Database;
  readonly #db: BunSQLiteDatabase;

  private constructor(sqlite: Database) {
    this.#sqlite = sqlite;
    this.#db = drizzle(sqlite);
  }

  static open(path: string): ArtifactLedger {
    const sqlite = new Database(path, { create: true, strict: true });
    sqlite.run("PRAGMA journal_mode = WAL");
    sqlite.run("PRAGMA synchronous = FULL");
    const done = sqlite.query<{ user_version: number }, []>("PRAGMA user_version").get()?.user_version ?? 0;
    if (done > MIGRATIONS.length) {
      throw new AtollError("internal_error", "A newer Atoll wrote this artifact store; start that version again.");
    }
    sqlite.transaction(() => {
      for (const migration of MIGRATIONS.slice(done)) sqlite.run(migration);
      sqlite.run(`PRAGMA user_version = ${MIGRATIONS.length}`);
    })();
    return new ArtifactLedger(sqlite);
  }

  /** Size in bytes of a held blob; null when it is not held. */
  byteSize(sha256: Sha256Hex): number | null {
    return this.#db.select().from(blobs).where(eq(blobs.sha256, sha256)).get()?.byteSize ?? null;
  }

  /** Bytes of all held blobs together. */
  totalBytes(): number {
    return (
      this.#db
        .select({ total: sql<number>`coalesce(sum(${blobs.byteSize}), 0)` })
        .from(blobs)
        .get()?.total ?? 0
    );
  }

  /** The file is durable: write it into the book (L1) together with what it is kept for. */
  admit(sha256: Sha256Hex, byteSize: number, uses: Uses, nowMs: number): void {
    this.#db.transaction((tx) => {
      tx.insert(blobs).values({ sha256, byteSize, idleSinceMs: nowMs }).onConflictDoNothing().run();
      for (const space of uses.spaces ?? []) {
        tx.insert(grants)
          .values({ sha256, space, grantedAtMs: nowMs })
          .onConflictDoUpdate({ target: [grants.sha256, grants.space], set: { grantedAtMs: nowMs } })
          .run();
      }
      if (uses.pin !== undefined) {
        tx.insert(pins)
          .values({ sha256, ...uses.pin })
          .onConflictDoNothing()
          .run();
      }
    });
  }

  /** WB-57: a Space may use what was granted to it, and what a Resource of its own keeps. */
  mayUse(sha256: Sha256Hex, space: SpaceName): boolean {
    const granted = this.#db
      .select()
      .from(grants)
      .where(and(eq(grants.sha256, sha256), eq(grants.space, space)))
      .get();
    if (granted !== undefined) return true;
    const kept = this.#db
      .select()
      .from(pins)
      .where(and(eq(pins.sha256, sha256), eq(pins.space, space)))
      .get();
    return kept !== undefined;
  }

  isPinned(sha256: Sha256Hex, owner: ResourceUid): boolean {
    const pin = this.#db
      .select()
      .from(pins)
      .where(and(eq(pins.sha256, sha256), eq(pins.owner, owner)))
      .get();
    return pin !== undefined;
  }

  /** Drop every pin of `owner`. What it kept alone starts to age now. */
  release(owner: ResourceUid, nowMs: number): void {
    this.#db.transaction((tx) => {
      const kept = tx.select({ sha256: pins.sha256 }).from(pins).where(eq(pins.owner, owner));
      tx.update(blobs).set({ idleSinceMs: nowMs }).where(inArray(blobs.sha256, kept)).run();
      tx.delete(pins).where(eq(pins.owner, owner)).run();
    });
  }

  /** The file is lost or damaged: it is no longer held. Pins and grants stay (L2). */
  forget(sha256: Sha256Hex): void {
    this.#db.delete(blobs).where(eq(blobs.sha256, sha256)).run();
  }

  /** Blobs without a pin whose time is over. */
  expired(nowMs: number, retention: Retention): readonly Sha256Hex[] {
    return this.#db
      .select({ sha256: blobs.sha256 })
      .from(blobs)
      .where(this.#isExpired(nowMs, retention))
      .all()
      .map((row) => row.sha256);
  }

  /** Strike out a blob with its grants, if it is still expired. Its size in bytes, or null when it stays. */
  strike(sha256: Sha256Hex, nowMs: number, retention: Retention): number | null {
    return this.#db.transaction((tx) => {
      const gone = tx
        .delete(blobs)
        .where(and(eq(blobs.sha256, sha256), this.#isExpired(nowMs, retention)))
        .returning(getTableColumns(blobs))
        .get();
      if (gone === undefined) return null;
      tx.delete(grants).where(eq(grants.sha256, sha256)).run();
      return gone.byteSize;
    });
  }

  /** Remove old grants of content that was lost and never provided again. */
  sweepGrants(nowMs: number, retention: Retention): void {
    const blob = this.#db.select({ one: sql`1` }).from(blobs).where(eq(blobs.sha256, grants.sha256));
    this.#db
      .delete(grants)
      .where(and(lte(grants.grantedAtMs, nowMs - retention.grantedMs), notExists(blob)))
      .run();
  }

  close(): void {
    this.#sqlite.close();
  }

  #isExpired(nowMs: number, retention: Retention) {
    const anyPin = this.#db.select({ one: sql`1` }).from(pins).where(eq(pins.sha256, blobs.sha256));
    const anyGrant = this.#db.select({ one: sql`1` }).from(grants).where(eq(grants.sha256, blobs.sha256));
    const liveGrant = this.#db
      .select({ one: sql`1` })
      .from(grants)
      .where(and(eq(grants.sha256, blobs.sha256), sql`${grants.grantedAtMs} > ${nowMs - retention.grantedMs}`));
    const idleGranted = sql`${blobs.idleSinceMs} <= ${nowMs - retention.grantedMs}`;
    const idleUngranted = sql`${blobs.idleSinceMs} <= ${nowMs - retention.ungrantedMs}`;
    return and(
      notExists(anyPin),
      notExists(liveGrant),
      sql`CASE WHEN ${exists(anyGrant)} THEN ${idleGranted} ELSE ${idleUngranted} END`,
    );
  }
}
