import type { Row } from "../row.ts";
import { idleMemoryRow } from "./idle-memory.ts";
import { startUpRows } from "./start-up.ts";
import { statelessRows } from "./stateless.ts";

export const ALL_ROWS: readonly Row[] = [...statelessRows, ...startUpRows, idleMemoryRow];

/** The rows that `names` name, all when it names none. A name that ends in `*` stands for all that begin so. Throws on an unknown one. */
export function selectRows(rows: readonly Row[], names: readonly string[]): Row[] {
  if (names.length === 0) return [...rows];
  const chosen = new Set<Row>();
  for (const name of names) {
    const found = rows.filter((row) =>
      name.endsWith("*") ? row.name.startsWith(name.slice(0, -1)) : row.name === name,
    );
    if (found.length === 0) throw new RangeError(`there is no row ${name}; npm run bench -- --list shows all`);
    for (const row of found) chosen.add(row);
  }
  return rows.filter((row) => chosen.has(row));
}
