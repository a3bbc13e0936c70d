/** A promise of ours was broken: a bug in Atoll, never a tenant's or a client's fault. */
export class InvariantViolation extends Error {
  override readonly name = "InvariantViolation";
}

/** Throws InvariantViolation unless `condition` holds. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new InvariantViolation(message);
}

/** Marks code that the types prove unreachable; reached at run time it is a bug. */
export function unreachable(value: never, what = "value"): never {
  throw new InvariantViolation(`unexpected ${what}: ${String(value)}`);
}
