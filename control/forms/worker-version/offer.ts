// What a WorkerVersion brings to the Worker that runs it, and whether that meets what others demand of the Worker.
import { unreachable } from "../../../base/invariant.ts";
import type { JsonObject } from "../../../base/json.ts";
import type { ExportedClass, HandlerName } from "../../../runtime/workers/worker-runtime.ts";
import type { ResourceRecord } from "../form.ts";
import { type Standing, standingOf } from "../standing.ts";
import { parseWorkerVersion } from "./spec.ts";

/** Something that every Version which may get the Worker's events has to bring (WD-20 … WD-23). */
export type Need =
  /** Answer HTTP: by a declared and exported `fetch`, or by verified assets (WD-20). */
  | { readonly kind: "http" }
  /** Declare and export a handler (WD-21). */
  | { readonly kind: "handler"; readonly handler: HandlerName }
  /** Export a class by name, with the ABI of the Form that needs it (WD-23). */
  | { readonly kind: "class"; readonly className: string; readonly accepts: (found: ExportedClass) => boolean };

/** `unknown`: verification has not come to a verdict. */
export type Meets = "yes" | "no" | "unknown";

/** What the last verification found in the module graph; the Version's private notes. */
export interface VersionNotes {
  readonly classes: readonly ExportedClass[];
}

/** Null before the first completed verification. */
export function readVersionNotes(backend: JsonObject | null): VersionNotes | null {
  const classes = backend?.["classes"];
  return Array.isArray(classes) ? { classes: classes as unknown as readonly ExportedClass[] } : null;
}

export function writeVersionNotes(notes: VersionNotes): JsonObject {
  return { classes: notes.classes.map(({ name, methods }) => ({ name, methods })) };
}

/** Whether a Deployment may rely on the Version. */
export function versionStanding(version: ResourceRecord): Standing {
  return standingOf(version, version.observed["ready"] === true);
}

/**
 * Handlers and assets are judged by declaration: a Version whose exports differ from it never becomes Ready (WV-20).
 * Classes are judged by what verification found.
 */
export function meets(version: ResourceRecord, need: Need): Meets {
  const spec = parseWorkerVersion(version.spec);
  switch (need.kind) {
    case "http":
      return spec.handlers.includes("fetch") || spec.assets !== null ? "yes" : "no";
    case "handler":
      return spec.handlers.includes(need.handler) ? "yes" : "no";
    case "class": {
      if (spec.bundle === null) return "no"; // WV-67
      const notes = readVersionNotes(version.backend);
      if (notes === null) return versionStanding(version) === "pending" ? "unknown" : "no";
      const found = notes.classes.find((it) => it.name === need.className);
      return found !== undefined && need.accepts(found) ? "yes" : "no";
    }
    default:
      return unreachable(need, "need");
  }
}

/** Continues "… must" or "does not". */
export function needText(need: Need): string {
  switch (need.kind) {
    case "http":
      return 'answer HTTP: declare the "fetch" handler';
    case "handler":
      return `declare the "${need.handler}" handler`;
    case "class":
      return `export the class ${need.className}`;
    default:
      return unreachable(need, "need");
  }
}
