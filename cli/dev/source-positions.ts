// From places in a bundle back to the author's sources.
import { originalPositionFor, sourceContentFor, TraceMap } from "@jridgewell/trace-mapping";
import { isAbsolute, relative, resolve } from "node:path";
import type { WorkerFiles } from "../deploy/worker-files.ts";

export interface SourcePosition {
  /** As people write it from the working directory. */
  readonly file: string;
  /** Both count from 1. */
  readonly line: number;
  readonly column: number;
  /** Content of the source; null when the map has none. */
  readonly source: string | null;
}

export interface Mapped {
  /** The text with every place of the bundle replaced by one of the sources. */
  readonly text: string;
  /** The first place in a source of the author's own, rather than of a package. */
  readonly first: SourcePosition | null;
}

/** Places as a Worker's stacks write them; line and column count from 1. */
const PLACE = /worker:\/\/\/([^\s:()]+):(\d+):(\d+)/g;

export class SourcePositions {
  readonly #maps = new Map<string, TraceMap>();
  readonly #root: string;
  readonly #cwd: string;

  /** @param root directory that the paths in the source map are relative to */
  constructor({ files }: WorkerFiles, root: string, cwd: string) {
    this.#root = root;
    this.#cwd = cwd;
    for (const { path, mediaType, bytes } of files) {
      if (mediaType !== "application/source-map+json") continue;
      this.#maps.set(path.replace(/\.map$/, ""), new TraceMap(new TextDecoder().decode(bytes)));
    }
  }

  map(text: string): Mapped {
    let first: SourcePosition | null = null;
    const mapped = text.replace(PLACE, (place, module: string, line: string, column: string) => {
      const position = this.#at(module, Number(line), Number(column));
      if (position === null) return place;
      if (first === null && !position.file.includes("node_modules")) first = position;
      return `${position.file}:${position.line}:${position.column}`;
    });
    return { text: mapped, first };
  }

  #at(module: string, line: number, column: number): SourcePosition | null {
    const map = this.#maps.get(module);
    if (map === undefined || line < 1 || column < 1) return null;
    const found = originalPositionFor(map, { line, column: column - 1 });
    if (found.source === null) return null;
    const short = relative(this.#cwd, resolve(this.#root, found.source));
    return {
      file: isAbsolute(short) ? short : short.replaceAll("\\", "/"),
      line: found.line,
      column: found.column + 1,
      source: sourceContentFor(map, found.source),
    };
  }
}
