/** Where in a source a fault is; line and column count from 1. */
export interface SourcePlace {
  /** Absolute. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** Characters at fault; at least 1. */
  readonly length: number;
  readonly lineText: string;
}

/** The sources of a Worker cannot be turned into a bundle; the message says what to change. */
export class BuildError extends Error {
  override readonly name = "BuildError";
  readonly place: SourcePlace | null;
  /** The message without the place that it begins with. */
  readonly bare: string;

  constructor(message: string, more: { readonly place?: SourcePlace | null; readonly bare?: string } = {}) {
    super(message);
    this.place = more.place ?? null;
    this.bare = more.bare ?? message;
  }
}
