// The steps that lead an older control store to today's tables. The list only grows: a step that was released is
// never edited, because stores in the field have run it. Kept in code so that a compiled binary carries it.
import type { Database } from "bun:sqlite";
import { AtollError } from "../../base/errors.ts";

const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE resource (
    uid TEXT PRIMARY KEY NOT NULL,
    form TEXT NOT NULL,
    space TEXT NOT NULL,
    name TEXT NOT NULL,
    owner TEXT NOT NULL,
    generation INTEGER NOT NULL,
    observed_generation INTEGER NOT NULL,
    observed_at_ms INTEGER,
    phase TEXT NOT NULL,
    spec TEXT NOT NULL,
    observed TEXT NOT NULL,
    output TEXT NOT NULL,
    last_operation TEXT NOT NULL,
    backend TEXT,
    wake_at_ms INTEGER
  ) STRICT;
  CREATE UNIQUE INDEX resource_space_name ON resource (space, name);
  CREATE INDEX resource_form_uid ON resource (form, uid);
  CREATE INDEX resource_space_uid ON resource (space, uid);
  CREATE INDEX resource_wake ON resource (wake_at_ms) WHERE wake_at_ms IS NOT NULL;

  CREATE TABLE reference (
    from_uid TEXT NOT NULL,
    to_uid TEXT NOT NULL,
    kind TEXT NOT NULL,
    PRIMARY KEY (from_uid, kind, to_uid)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX reference_to ON reference (to_uid);

  CREATE TABLE tombstone (
    uid TEXT PRIMARY KEY NOT NULL,
    space TEXT NOT NULL,
    deleted_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE operation (
    id TEXT PRIMARY KEY NOT NULL,
    resource_uid TEXT NOT NULL,
    space TEXT NOT NULL,
    principal TEXT NOT NULL,
    action TEXT NOT NULL,
    generation INTEGER NOT NULL,
    status TEXT NOT NULL,
    effect TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL,
    retain_until_ms INTEGER NOT NULL,
    window_ms INTEGER NOT NULL,
    error_code TEXT,
    error_message TEXT,
    input_reason TEXT,
    input_names TEXT,
    attempt TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX operation_unfinished ON operation (status) WHERE status NOT IN ('succeeded', 'failed');
  CREATE INDEX operation_retain ON operation (retain_until_ms);
  CREATE INDEX operation_resource ON operation (resource_uid);

  CREATE TABLE idempotency (
    api TEXT NOT NULL,
    principal TEXT NOT NULL,
    key TEXT NOT NULL,
    operation_id TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    PRIMARY KEY (principal, key, api)
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX idempotency_operation ON idempotency (operation_id);

  CREATE TABLE transfer_value (
    operation_id TEXT PRIMARY KEY NOT NULL,
    key_id TEXT NOT NULL,
    sealed BLOB NOT NULL,
    expires_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX transfer_value_expiry ON transfer_value (expires_at_ms);

  CREATE TABLE comparison (
    operation_id TEXT PRIMARY KEY NOT NULL,
    key_id TEXT NOT NULL,
    mac BLOB NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE secret (
    uid TEXT PRIMARY KEY NOT NULL,
    key_id TEXT NOT NULL,
    sealed BLOB NOT NULL,
    mac BLOB NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE space (
    name TEXT PRIMARY KEY NOT NULL,
    created_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE principal (
    id TEXT PRIMARY KEY NOT NULL,
    admin INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE space_grant (
    principal TEXT NOT NULL,
    space TEXT NOT NULL,
    may_read INTEGER NOT NULL,
    may_write INTEGER NOT NULL,
    may_use INTEGER NOT NULL,
    PRIMARY KEY (principal, space)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE token (
    id TEXT PRIMARY KEY NOT NULL,
    principal TEXT NOT NULL,
    digest BLOB NOT NULL,
    label TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    revoked_at_ms INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX token_principal ON token (principal);
  `,
];

/**
 * Bring the store to the newest tables, each step in a transaction of its own. A store of a newer Atoll is refused
 * and left untouched: guessing what its tables mean could lose what they hold.
 */
export function migrate(database: Database): void {
  const row = database.query("PRAGMA user_version").get() as { user_version: number };
  const done = row.user_version;
  if (done > MIGRATIONS.length) {
    throw new AtollError("temporarily_unavailable", "the control store was written by a newer version of Atoll", {
      hint: "Start it with that version or a later one.",
    });
  }
  for (let step = done; step < MIGRATIONS.length; step++) {
    database
      .transaction(() => {
        database.run(MIGRATIONS[step] ?? "");
        database.run(`PRAGMA user_version = ${step + 1}`);
      })
      .immediate();
  }
}
