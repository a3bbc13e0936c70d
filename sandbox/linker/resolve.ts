// Module resolution by MW-33 … MW-39: exact, textual, inside the bundle.

export type Resolution =
  | { readonly type: "found"; readonly path: string }
  | { readonly type: "refused"; readonly code: "module_not_found" | "unsupported_media_type" };

/** What a manifest path holds, as far as importing goes. */
export type ModuleKind = "javascript" | "text" | "bytes" | "wasm" | "source-map";

const NOT_FOUND: Resolution = { type: "refused", code: "module_not_found" };

/**
 * Resolve `specifier` as written in the module at `importer` (a manifest path). `./` and `../` start at the importer's
 * folder, `/` at the bundle root; every other form is refused, and so are `..` above the root, empty segments,
 * backslashes, `?` and `#` (MW-36, MW-A4). Percent escapes are plain text (MW-37).
 */
export function resolveSpecifier(
  specifier: string,
  importer: string,
  kinds: ReadonlyMap<string, ModuleKind>,
): Resolution {
  const path = joinPath(specifier, importer);
  if (path === null) return NOT_FOUND;
  const kind = kinds.get(path);
  if (kind === undefined) return NOT_FOUND;
  if (kind === "source-map") return { type: "refused", code: "unsupported_media_type" };
  return { type: "found", path };
}

/** The manifest path that a specifier names, or null when its form is refused. */
export function joinPath(specifier: string, importer: string): string | null {
  if (/[\\?#]/.test(specifier)) return null;
  const relative = specifier.startsWith("./") || specifier.startsWith("../");
  if (!relative && !specifier.startsWith("/")) return null;

  const segments = relative ? importer.split("/").slice(0, -1) : [];
  const written = (relative ? specifier : specifier.slice(1)).split("/");
  for (const segment of written) {
    if (segment === "") return null;
    if (segment === ".") continue;
    if (segment === "..") {
      if (segments.length === 0) return null;
      segments.pop();
      continue;
    }
    segments.push(segment);
  }
  return segments.length === 0 ? null : segments.join("/");
}

/**
 * Whether an import attribute `type` agrees with the manifest's media type (MW-A5): the manifest alone decides, and an
 * attribute is only checked for contradiction. There is no JSON module (MW-30).
 */
export function attributeAgrees(type: string, kind: ModuleKind): boolean {
  switch (type) {
    case "text":
      return kind === "text";
    case "bytes":
      return kind === "bytes";
    case "wasm":
    case "webassembly":
      return kind === "wasm";
    case "javascript":
      return kind === "javascript";
    default:
      return false;
  }
}
