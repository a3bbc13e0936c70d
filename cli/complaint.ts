// What is wrong with a JSON file, in words that say what to change.
import type { z } from "zod";
import { nearest } from "./nearest.ts";

/**
 * The first fault of a JSON file that does not keep its schema: where it stands, what it should be, and which key was
 * probably meant.
 *
 * @param file what people call the file
 * @param sources who set the value at a path, when it was not the file
 */
export function complaint(
  error: z.ZodError,
  schema: z.ZodType,
  file: string,
  sources: ReadonlyMap<string, string> = new Map(),
): string {
  // A misspelt key often makes another one seem missing, so it is told first.
  const first = error.issues.find((issue) => issue.code === "unrecognized_keys") ?? error.issues[0];
  if (first === undefined) return `${file} is not valid`;
  const path = pathText(first.path);
  const others = new Set(error.issues.map((issue) => pathText(issue.path))).size - 1;
  const more = others === 0 ? "" : ` (and ${others} more)`;
  if (first.code === "unrecognized_keys") {
    const [unknown = ""] = first.keys;
    const full = path === "" ? unknown : `${path}.${unknown}`;
    const like = nearest(unknown, keysAt(schema, first.path));
    return `${file}: unknown key ${full}${like === null ? "" : `; did you mean ${path === "" ? like : `${path}.${like}`}?`}${more}`;
  }
  const source = sources.get(path);
  return `${source ?? `${file}: ${path}`} ${first.message}${more}`;
}

function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === "number") return `${text}[${part}]`;
    return text === "" ? String(part) : `${text}.${String(part)}`;
  }, "");
}

/** The keys that are known at a place of the file. */
function keysAt(root: z.ZodType, path: readonly PropertyKey[]): string[] {
  let schema: unknown = root;
  for (const part of path) schema = typeof part === "number" ? elementOf(schema) : shapeOf(schema)?.[String(part)];
  return Object.keys(shapeOf(schema) ?? {});
}

interface SchemaNode {
  readonly shape?: Readonly<Record<string, unknown>>;
  readonly element?: unknown;
  readonly def?: { readonly innerType?: unknown };
}

function shapeOf(schema: unknown): Readonly<Record<string, unknown>> | undefined {
  const node = unwrap(schema);
  return node?.shape;
}

function elementOf(schema: unknown): unknown {
  return unwrap(schema)?.element;
}

/** Without the wrappers for defaults and omission. */
function unwrap(schema: unknown): SchemaNode | undefined {
  let node = schema as SchemaNode | undefined;
  while (node?.def?.innerType !== undefined) node = node.def.innerType as SchemaNode;
  return node;
}
