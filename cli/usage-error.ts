/** The person at the keyboard has to write something else. Exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
