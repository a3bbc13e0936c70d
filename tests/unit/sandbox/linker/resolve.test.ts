import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { attributeAgrees, joinPath, type ModuleKind, resolveSpecifier } from "../../../../sandbox/linker/resolve.ts";

const segment = fc.stringMatching(/^[a-zA-Z0-9._%~@+-]{1,6}$/).filter((text) => text !== "." && text !== "..");
const path = fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => segments.join("/"));

/** How one manifest path is written from another with `./` and `../`. */
function relativeFrom(importer: string, target: string): string {
  const up = importer.split("/").length - 1;
  return up === 0 ? `./${target}` : "../".repeat(up) + target;
}

describe("joinPath", () => {
  test("MW-34 MW-35: every path is reached from every other, relatively and from the root, and as itself only", () => {
    fc.assert(
      fc.property(path, path, (importer, target) => {
        expect(joinPath(relativeFrom(importer, target), importer)).toBe(target);
        expect(joinPath(`/${target}`, importer)).toBe(target);
        expect(joinPath(target, importer)).toBe(null);
      }),
    );
  });

  test("MW-35: it walks like POSIX, one segment after the other", () => {
    const step = fc.oneof(segment, fc.constant("."), fc.constant(".."));
    fc.assert(
      fc.property(path, fc.array(step, { minLength: 1, maxLength: 8 }), (importer, steps) => {
        const at = importer.split("/").slice(0, -1);
        let climbed = false;
        for (const one of steps) {
          if (one === "..") climbed = at.pop() === undefined || climbed;
          else if (one !== ".") at.push(one);
        }
        const expected = climbed || at.length === 0 ? null : at.join("/");
        expect(joinPath(`./${steps.join("/")}`, importer)).toBe(expected);
      }),
    );
  });

  test("MW-36: no text whatever leads out of the bundle or to anything but plain segments", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 30 }), path, (specifier, importer) => {
        const found = joinPath(specifier, importer);
        if (found === null) return;
        expect(found).not.toMatch(/[\\?#]/);
        for (const part of found.split("/")) expect(["", ".", ".."]).not.toContain(part);
      }),
      { numRuns: 500 },
    );
  });

  test.each([
    ["../../x.js"],
    ["/../x.js"],
    [".//x.js"],
    ["./x.js/"],
    ["./"],
    ["."],
    [".."],
    ["/"],
    ["//host/x.js"],
    ["./a\\b.js"],
    ["./x.js?y"],
    ["./x.js#y"],
    ["x.js"],
    ["node:fs"],
    ["https://example.com/x.js"],
    ["data:text/javascript,1"],
    ["#internal"],
    ["@scope/name"],
    [""],
    [" ./x.js"],
    ["\\x.js"],
  ])("MW-36 MW-A3 MW-A4: %j is refused", (specifier) => {
    expect(joinPath(specifier, "dir/main.js")).toBe(null);
  });
});

describe("resolveSpecifier", () => {
  const kinds = new Map<string, ModuleKind>([
    ["main.js", "javascript"],
    ["a b.js", "javascript"],
    ["a%20b.js", "javascript"],
    ["lib/index.js", "javascript"],
    ["main.js.map", "source-map"],
  ]);
  test.each([
    ["./a%20b.js", { type: "found", path: "a%20b.js" }],
    ["./a b.js", { type: "found", path: "a b.js" }],
    ["./main", { type: "refused", code: "module_not_found" }],
    ["./lib", { type: "refused", code: "module_not_found" }],
    ["./MAIN.js", { type: "refused", code: "module_not_found" }],
    ["./ma%69n.js", { type: "refused", code: "module_not_found" }],
    ["./lib/../main.js", { type: "found", path: "main.js" }],
    ["./main.js.map", { type: "refused", code: "unsupported_media_type" }],
  ] as const)("MW-37 MW-38 MW-39: %j", (specifier, resolution) => {
    expect(resolveSpecifier(specifier, "main.js", kinds)).toEqual(resolution);
  });

  test("MW-A5: an attribute may only say what the manifest says", () => {
    const all: readonly ModuleKind[] = ["javascript", "text", "bytes", "wasm"];
    for (const kind of all) {
      expect(["json", "css", "", "JavaScript"].filter((type) => attributeAgrees(type, kind))).toEqual([]);
      for (const type of all) expect(attributeAgrees(type, kind)).toBe(type === kind);
    }
  });
});
