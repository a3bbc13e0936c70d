import { readFileSync } from "node:fs";

/** Null when the file cannot be read: a kernel without that setting. */
export function readText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}
