// Resources, the references between them, and the tombstones of deleted ones.
//
// Rows are decoded once and kept in a bounded cache, since Forms look at the same neighbours again and again. The
// cache is written through, and dropped whole when a transaction rolls back.
import { and, asc, eq, gt, inArray, lte, min, type SQL, sql } from "drizzle-orm";
import type { FormUrl, ResourceUid, SpaceName } from "../../base/ids.ts";
import type { ReferenceKind, ResourceRow, TombstoneRow } from "./records.ts";
import { operation, reference, resource, secret, tombstone } from "./schema.ts";
import { type Db, given, prepareUpsert } from "./statements.ts";

const CACHED_MAX = 20_000;

export interface ResourceFilter {
  /** Only Resources of these Spaces; null means every Space. */
  readonly spaces: readonly SpaceName[] | null;
  readonly space: string | null;
  readonly name: string | null;
  readonly form: string | null;
  /** Only UIDs behind this one; null starts at the beginning. */
  readonly after: string | null;
  readonly countMax: number;
}

export class ResourceTable {
  readonly #db: Db;
  readonly #cache = new Map<string, ResourceRow>();
  readonly #statements;
  readonly #lists = new Map<string, ReturnType<typeof prepareList>>();

  constructor(db: Db) {
    this.#db = db;
    this.#statements = prepare(db);
  }

  /** The undeleted Resource with this UID. */
  get(uid: string): ResourceRow | null {
    const cached = this.#cache.get(uid);
    if (cached !== undefined) return cached;
    const row = this.#statements.byUid.get({ uid });
    return row === undefined ? null : this.#remember(row);
  }

  /** The holder of a name in a Space, across all Forms (HA-68). */
  byName(space: SpaceName, name: string): ResourceUid | null {
    return this.#statements.byName.get({ space, name })?.uid ?? null;
  }

  /** In order of UID. */
  ofForm(form: FormUrl): readonly ResourceRow[] {
    return this.#rows(this.#statements.ofForm.all({ form }));
  }

  /** The same, read at once: for the start of a node, which wants all of some Forms and nothing of the others. */
  allOfForm(form: FormUrl): readonly ResourceRow[] {
    const rows = this.#statements.allOfForm.all({ form });
    for (const row of rows) this.#remember(row);
    return rows;
  }

  /** In order of UID. */
  uidsOfForm(form: FormUrl): readonly ResourceUid[] {
    return this.#statements.ofForm.all({ form }).map((row) => row.uid);
  }

  /** Resources that hold a reference of either kind to `uid`, in order of UID. */
  referrersOf(uid: ResourceUid): readonly ResourceRow[] {
    return this.#rows(this.#statements.referrers.all({ uid }));
  }

  /** Resources that `uid` refers to, in order of UID. */
  referentsOf(uid: ResourceUid): readonly ResourceRow[] {
    return this.#rows(this.#statements.referents.all({ uid }));
  }

  /** One page in ascending order of UID (HA-145). */
  list(filter: ResourceFilter): readonly ResourceRow[] {
    const used = CONDITIONS.filter(([field]) => filter[field] !== null);
    const shape = used.map(([field]) => field).join();
    const query =
      this.#lists.get(shape) ??
      prepareList(
        this.#db,
        used.map(([, condition]) => condition),
      );
    this.#lists.set(shape, query);
    return query.all({ ...filter, spaces: JSON.stringify(filter.spaces) });
  }

  count(): number {
    return this.#statements.count.get()?.count ?? 0;
  }

  put(row: ResourceRow): void {
    this.#statements.put(row);
    this.#remember(row);
  }

  /** Remove the record with its references and its kept secrets, and leave a tombstone. */
  remove(row: ResourceRow, deletedAtMs: number): void {
    this.#cache.delete(row.uid);
    this.#statements.remove.run({ uid: row.uid });
    this.#statements.removeReferences.run({ uid: row.uid });
    this.#statements.removeSecret.run({ uid: row.uid });
    this.#statements.bury({ uid: row.uid, space: row.space, deletedAtMs });
  }

  tombstone(uid: string): TombstoneRow | null {
    return this.#statements.tombstone.get({ uid }) ?? null;
  }

  /** Forget tombstones made before `beforeMs` that no kept Operation speaks of. */
  pruneTombstones(beforeMs: number): void {
    this.#statements.pruneTombstones.run({ beforeMs });
  }

  /** Replace the references of one kind. */
  setReferences(from: ResourceUid, kind: ReferenceKind, to: readonly ResourceUid[]): void {
    this.#statements.clearReferences.run({ uid: from, kind });
    for (const toUid of new Set(to)) this.#statements.addReference.run({ fromUid: from, toUid, kind });
  }

  /** Keep what the spec refers to now as `previous`, beside what is there: a new spec is about to be accepted. */
  retainReferences(from: ResourceUid): void {
    this.#statements.retainReferences.run({ uid: from });
  }

  /** The earliest wake after `nowMs` that a settled Resource waits for, in Unix milliseconds. */
  earliestWakeMs(nowMs: number): number | null {
    return this.#statements.earliestWake.get({ nowMs })?.dueMs ?? null;
  }

  /** Settled Resources whose wake is due. While an Operation is unfinished a wake waits. */
  dueWakes(nowMs: number): readonly ResourceUid[] {
    return this.#statements.dueWakes.all({ nowMs }).map((row) => row.uid);
  }

  /** Drop what a rolled-back transaction may have put into the cache. */
  forgetCached(): void {
    this.#cache.clear();
  }

  #rows(keys: readonly { readonly uid: ResourceUid }[]): readonly ResourceRow[] {
    const rows: ResourceRow[] = [];
    for (const { uid } of keys) {
      const row = this.get(uid);
      if (row !== null) rows.push(row);
    }
    return rows;
  }

  #remember(row: ResourceRow): ResourceRow {
    if (this.#cache.size >= CACHED_MAX && !this.#cache.has(row.uid)) {
      const oldest = this.#cache.keys().next();
      if (oldest.done !== true) this.#cache.delete(oldest.value);
    }
    this.#cache.set(row.uid, row);
    return row;
  }
}

/** A filter sets some of these; each combination is one prepared statement. */
const CONDITIONS: readonly (readonly [Exclude<keyof ResourceFilter, "countMax">, SQL])[] = [
  ["spaces", sql`${resource.space} in (select value from json_each(${given("spaces")}))`],
  ["space", eq(resource.space, given("space"))],
  ["name", eq(resource.name, given("name"))],
  ["form", eq(resource.form, given("form"))],
  ["after", gt(resource.uid, given("after"))],
];

function prepareList(db: Db, conditions: readonly SQL[]) {
  return db
    .select()
    .from(resource)
    .where(and(...conditions))
    .orderBy(asc(resource.uid))
    .limit(given("countMax"))
    .prepare();
}

function prepare(db: Db) {
  const isSettled = inArray(resource.phase, ["idle", "error"]);
  return {
    byUid: db
      .select()
      .from(resource)
      .where(eq(resource.uid, given("uid")))
      .prepare(),
    byName: db
      .select({ uid: resource.uid })
      .from(resource)
      .where(and(eq(resource.space, given("space")), eq(resource.name, given("name"))))
      .prepare(),
    ofForm: db
      .select({ uid: resource.uid })
      .from(resource)
      .where(eq(resource.form, given("form")))
      .orderBy(asc(resource.uid))
      .prepare(),
    allOfForm: db
      .select()
      .from(resource)
      .where(eq(resource.form, given("form")))
      .orderBy(asc(resource.uid))
      .prepare(),
    count: db.select({ count: sql<number>`count(*)` }).from(resource).prepare(),
    put: prepareUpsert(db, resource, [resource.uid]),
    remove: db
      .delete(resource)
      .where(eq(resource.uid, given("uid")))
      .prepare(),
    removeReferences: db
      .delete(reference)
      .where(eq(reference.fromUid, given("uid")))
      .prepare(),
    removeSecret: db
      .delete(secret)
      .where(eq(secret.uid, given("uid")))
      .prepare(),
    bury: prepareUpsert(db, tombstone, [tombstone.uid]),
    tombstone: db
      .select()
      .from(tombstone)
      .where(eq(tombstone.uid, given("uid")))
      .prepare(),
    pruneTombstones: db
      .delete(tombstone)
      .where(
        and(
          lte(tombstone.deletedAtMs, given("beforeMs")),
          sql`not exists (select 1 from ${operation} where ${operation.resourceUid} = ${tombstone.uid})`,
        ),
      )
      .prepare(),
    clearReferences: db
      .delete(reference)
      .where(and(eq(reference.fromUid, given("uid")), eq(reference.kind, given("kind"))))
      .prepare(),
    addReference: db
      .insert(reference)
      .values({
        fromUid: given("fromUid"),
        toUid: given("toUid"),
        kind: given("kind"),
      })
      .prepare(),
    retainReferences: db
      .insert(reference)
      .select(
        db
          .select({
            fromUid: reference.fromUid,
            toUid: reference.toUid,
            kind: sql<ReferenceKind>`'previous'`.as("kind"),
          })
          .from(reference)
          .where(and(eq(reference.fromUid, given("uid")), eq(reference.kind, "spec"))),
      )
      .onConflictDoNothing()
      .prepare(),
    referrers: db
      .selectDistinct({ uid: reference.fromUid })
      .from(reference)
      .where(eq(reference.toUid, given("uid")))
      .orderBy(asc(reference.fromUid))
      .prepare(),
    referents: db
      .selectDistinct({ uid: reference.toUid })
      .from(reference)
      .where(eq(reference.fromUid, given("uid")))
      .orderBy(asc(reference.toUid))
      .prepare(),
    earliestWake: db
      .select({ dueMs: min(resource.wakeAtMs) })
      .from(resource)
      .where(and(gt(resource.wakeAtMs, given("nowMs")), isSettled))
      .prepare(),
    dueWakes: db
      .select({ uid: resource.uid })
      .from(resource)
      .where(and(lte(resource.wakeAtMs, given("nowMs")), isSettled))
      .orderBy(asc(resource.wakeAtMs))
      .prepare(),
  };
}
