import type { Fields, Logger } from "../../base/log.ts";

/** The node's log as an author needs it: only what went wrong in the node, since Workers are heard directly. */
export function nodeLog(complain: (message: string) => void, inherited: Fields = {}): Logger {
  const write = (message: string, fields: Fields = {}): void => {
    const all = { ...inherited, ...fields };
    if (all["from"] === "worker") return;
    const reason = all["reason"];
    complain(typeof reason === "string" ? `${message}: ${reason}` : message);
  };
  return {
    debug: () => {},
    info: () => {},
    warn: write,
    error: write,
    with: (fields) => nodeLog(complain, { ...inherited, ...fields }),
  };
}
