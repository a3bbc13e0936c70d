/** The sources of a Worker cannot be turned into a bundle; the message says what to change. */
export class BuildError extends Error {
  override readonly name = "BuildError";
}
