/** `warn`: the node works, but worse or less safely than it could. `fail`: it does not start, or loses data. */
export type Verdict = "ok" | "warn" | "fail";

export interface Finding {
  readonly verdict: Verdict;
  /** One sentence: what is the case. */
  readonly says: string;
  /** What to do about it; not for `ok`. */
  readonly advice?: string;
}

export function ok(says: string): Finding {
  return { verdict: "ok", says };
}

export function warn(says: string, advice: string): Finding {
  return { verdict: "warn", says, advice };
}

export function fail(says: string, advice: string): Finding {
  return { verdict: "fail", says, advice };
}

/** For people: `512 MiB`, `3.5 GiB`. */
export function size(bytes: number): string {
  const gib = bytes / 2 ** 30;
  if (gib >= 1) return `${gib >= 10 ? Math.round(gib) : Math.round(gib * 10) / 10} GiB`;
  return `${Math.round(bytes / 2 ** 20)} MiB`;
}
