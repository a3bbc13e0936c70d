/** A place in the author's sources; line and column count from 1. */
export interface EventPlace {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** What happens under development, in the order in which it happens. With --json each is one line on stdout. */
export type DevEvent =
  | { readonly event: "ready"; readonly url: string; readonly worker: string; readonly ms: number }
  | { readonly event: "reloaded"; readonly worker: string; readonly version: string; readonly ms: number }
  | { readonly event: "unchanged"; readonly worker: string; readonly ms: number }
  | { readonly event: "restarted"; readonly ms: number }
  | {
      readonly event: "build_failed";
      readonly worker: string;
      readonly message: string;
      readonly place?: EventPlace;
      readonly frame?: string;
    }
  | {
      readonly event: "request";
      readonly worker: string;
      readonly method: string;
      readonly path: string;
      readonly status: number;
      readonly ms: number;
    }
  | {
      readonly event: "console" | "error";
      readonly worker: string;
      readonly level: "debug" | "info" | "warn" | "error";
      readonly message: string;
      readonly place?: EventPlace;
      readonly frame?: string;
    }
  | { readonly event: "node"; readonly message: string }
  | { readonly event: "stopped" };

export interface Reporter {
  report(event: DevEvent): void;
}
