// The tables of the control store as drizzle sees them. `migrations.ts` creates them; a test keeps the two in step.
import { blob, customType, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import { parseWrittenJson } from "../../base/exact-number.ts";
import type { FormUrl, OperationId, PrincipalId, ResourceUid, SpaceName } from "../../base/ids.ts";
import type { JsonObject } from "../../base/json.ts";
import type {
  Attempt,
  Effect,
  InputReason,
  OperationAction,
  OperationStatus,
  ReferenceKind,
  ResourcePhase,
} from "./records.ts";

const bytes = (name: string) => blob(name, { mode: "buffer" });

/** A spec keeps the digits that its sender wrote, also where a double could not (WV-42). */
const spec = customType<{ data: JsonObject; driverData: string }>({
  dataType: () => "text",
  toDriver: (value) => JSON.stringify(value),
  fromDriver: (text) => parseWrittenJson(text) as JsonObject,
});

export const resource = sqliteTable(
  "resource",
  {
    uid: text("uid").$type<ResourceUid>().primaryKey(),
    form: text("form").$type<FormUrl>().notNull(),
    space: text("space").$type<SpaceName>().notNull(),
    name: text("name").notNull(),
    owner: text("owner").$type<PrincipalId>().notNull(),
    generation: integer("generation").notNull(),
    observedGeneration: integer("observed_generation").notNull(),
    observedAtMs: integer("observed_at_ms"),
    phase: text("phase").$type<ResourcePhase>().notNull(),
    spec: spec("spec").notNull(),
    observed: text("observed", { mode: "json" }).$type<JsonObject>().notNull(),
    output: text("output", { mode: "json" }).$type<JsonObject>().notNull(),
    lastOperation: text("last_operation").$type<OperationId>().notNull(),
    backend: text("backend", { mode: "json" }).$type<JsonObject>(),
    wakeAtMs: integer("wake_at_ms"),
  },
  (t) => [
    uniqueIndex("resource_space_name").on(t.space, t.name),
    index("resource_form_uid").on(t.form, t.uid),
    index("resource_space_uid").on(t.space, t.uid),
    index("resource_wake").on(t.wakeAtMs),
  ],
);

export const reference = sqliteTable(
  "reference",
  {
    fromUid: text("from_uid").$type<ResourceUid>().notNull(),
    toUid: text("to_uid").$type<ResourceUid>().notNull(),
    kind: text("kind").$type<ReferenceKind>().notNull(),
  },
  (t) => [primaryKey({ columns: [t.fromUid, t.kind, t.toUid] }), index("reference_to").on(t.toUid)],
);

export const tombstone = sqliteTable("tombstone", {
  uid: text("uid").$type<ResourceUid>().primaryKey(),
  space: text("space").$type<SpaceName>().notNull(),
  deletedAtMs: integer("deleted_at_ms").notNull(),
});

export const operation = sqliteTable(
  "operation",
  {
    id: text("id").$type<OperationId>().primaryKey(),
    resourceUid: text("resource_uid").$type<ResourceUid>().notNull(),
    space: text("space").$type<SpaceName>().notNull(),
    principal: text("principal").$type<PrincipalId>().notNull(),
    action: text("action").$type<OperationAction>().notNull(),
    generation: integer("generation").notNull(),
    status: text("status").$type<OperationStatus>().notNull(),
    effect: text("effect").$type<Effect>().notNull(),
    createdAtMs: integer("created_at_ms").notNull(),
    updatedAtMs: integer("updated_at_ms").notNull(),
    retainUntilMs: integer("retain_until_ms").notNull(),
    windowMs: integer("window_ms").notNull(),
    errorCode: text("error_code"),
    errorMessage: text("error_message"),
    inputReason: text("input_reason").$type<InputReason>(),
    inputNames: text("input_names", { mode: "json" }).$type<readonly string[]>(),
    attempt: text("attempt").$type<Attempt>().notNull(),
  },
  (t) => [index("operation_retain").on(t.retainUntilMs), index("operation_resource").on(t.resourceUid)],
);

export const idempotency = sqliteTable(
  "idempotency",
  {
    api: text("api").notNull(),
    principal: text("principal").$type<PrincipalId>().notNull(),
    key: text("key").notNull(),
    operationId: text("operation_id").$type<OperationId>().notNull(),
    fingerprint: bytes("fingerprint").notNull(),
  },
  (t) => [primaryKey({ columns: [t.principal, t.key, t.api] }), uniqueIndex("idempotency_operation").on(t.operationId)],
);

/** The short-lived copy with which an Operation executes. */
export const transferValue = sqliteTable(
  "transfer_value",
  {
    operationId: text("operation_id").$type<OperationId>().primaryKey(),
    keyId: text("key_id").notNull(),
    sealed: bytes("sealed").notNull(),
    expiresAtMs: integer("expires_at_ms").notNull(),
  },
  (t) => [index("transfer_value_expiry").on(t.expiresAtMs)],
);

/** What a repeated request is compared with. Apart from the transfer value, because it outlives it (HA-138). */
export const comparison = sqliteTable("comparison", {
  operationId: text("operation_id").$type<OperationId>().primaryKey(),
  keyId: text("key_id").notNull(),
  mac: bytes("mac").notNull(),
});

/** The durable secrets of a Resource, with the material to compare them without unsealing. */
export const secret = sqliteTable("secret", {
  uid: text("uid").$type<ResourceUid>().primaryKey(),
  keyId: text("key_id").notNull(),
  sealed: bytes("sealed").notNull(),
  mac: bytes("mac").notNull(),
});

export const space = sqliteTable("space", {
  name: text("name").$type<SpaceName>().primaryKey(),
  createdAtMs: integer("created_at_ms").notNull(),
});

export const principal = sqliteTable("principal", {
  id: text("id").$type<PrincipalId>().primaryKey(),
  admin: integer("admin", { mode: "boolean" }).notNull(),
  createdAtMs: integer("created_at_ms").notNull(),
});

export const grant = sqliteTable(
  "space_grant",
  {
    principal: text("principal").$type<PrincipalId>().notNull(),
    space: text("space").$type<SpaceName>().notNull(),
    read: integer("may_read", { mode: "boolean" }).notNull(),
    write: integer("may_write", { mode: "boolean" }).notNull(),
    use: integer("may_use", { mode: "boolean" }).notNull(),
  },
  (t) => [primaryKey({ columns: [t.principal, t.space] })],
);

export const token = sqliteTable(
  "token",
  {
    id: text("id").primaryKey(),
    principal: text("principal").$type<PrincipalId>().notNull(),
    digest: bytes("digest").notNull(),
    label: text("label").notNull(),
    createdAtMs: integer("created_at_ms").notNull(),
    revokedAtMs: integer("revoked_at_ms"),
  },
  (t) => [index("token_principal").on(t.principal)],
);
