// Questions to the person at the terminal. Nothing is asked when there is none.
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { UsageError } from "./usage-error.ts";

export function isPerson(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/** One line that is not shown while it is typed. Rejects with a UsageError on Ctrl+C or Ctrl+D. */
export async function askHidden(question: string): Promise<string> {
  process.stderr.write(question);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  try {
    return await askOn(silent, "");
  } finally {
    process.stderr.write("\n");
  }
}

export async function askYes(question: string): Promise<boolean> {
  return /^y(?:es)?$/i.test((await askOn(process.stderr, `${question} [y/N] `)).trim());
}

async function askOn(output: NodeJS.WritableStream, question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output, terminal: true });
  const gone = new Promise<never>((_, reject) => {
    lines.once("SIGINT", () => reject(new UsageError("stopped")));
    lines.once("close", () => reject(new UsageError("nobody answered")));
  });
  try {
    return await Promise.race([lines.question(question), gone]);
  } finally {
    gone.catch(() => {});
    lines.close();
  }
}
