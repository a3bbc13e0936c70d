import { expect, test } from "bun:test";
import * as fc from "fast-check";
import type { Json } from "../../../../../base/json.ts";
import { isBundlePath, ManifestFault, parseManifest } from "../../../../../control/forms/worker-bundle/manifest.ts";
import { parseWorkerBundle } from "../../../../../control/forms/worker-bundle/spec.ts";

const DIGEST = "a".repeat(64);
const JS = "application/javascript+module";

const file = (path: string, more: Record<string, Json> = {}): Record<string, Json> => {
  return { path, url: "https://h.example/f", sha256: DIGEST, mediaType: JS, ...more };
};
const bytes = (manifest: Json | string): Uint8Array => {
  return new TextEncoder().encode(typeof manifest === "string" ? manifest : JSON.stringify(manifest));
};
const parse = (manifest: Json | string): unknown => parseManifest(bytes(manifest));
const refused = (manifest: Json | string): void => {
  expect(() => parse(manifest)).toThrow(ManifestFault);
};
const legal = (files: Record<string, Json>[], entrypoint = "main.js"): Json => ({ entrypoint, files });

test("WB-15, WB-16: files keep their order, and the entrypoint is one of them", () => {
  const manifest = legal([file("z.js"), file("main.js"), file("a.js")]);
  expect(parseManifest(bytes(manifest)).files.map((it) => it.path)).toEqual(["z.js", "main.js", "a.js"]);
  refused(legal([file("z.js")]));
  refused(legal([file("MAIN.js")], "main.js"));
  refused(legal([file("main.js", { mediaType: "text/plain" })]));
  refused(legal([]));
});

test("WB-16: 512 files are legal, 513 are not", () => {
  const many = (count: number): Json =>
    legal(Array.from({ length: count }, (_, i) => file(i === 0 ? "main.js" : `${i}.js`)));
  expect(() => parse(many(512))).not.toThrow();
  refused(many(513));
});

test("WB-11, WB-17: each object has exactly its fields", () => {
  refused({ ...(legal([file("main.js")]) as object), extra: 1 });
  refused(legal([file("main.js", { extra: 1 })]));
  for (const field of ["path", "url", "sha256", "mediaType"]) {
    const { [field]: _, ...rest } = file("main.js");
    refused(legal([rest]));
    refused(legal([{ ...rest, [field]: null }]));
  }
  refused({ files: [file("main.js")] });
  refused({ entrypoint: "main.js" });
});

test("WB-22, WB-A1: the media types of the ABI and the source map, and no other", () => {
  const types = [JS, "text/plain", "application/octet-stream", "application/wasm", "application/source-map+json"];
  for (const mediaType of types) expect(() => parse(legal([file("main.js"), file("x", { mediaType })]))).not.toThrow();
  for (const mediaType of ["application/json", "text/javascript", "TEXT/PLAIN", "text/plain; charset=utf-8", ""]) {
    refused(legal([file("main.js"), file("x", { mediaType })]));
  }
  refused(legal([file("map", { mediaType: "application/source-map+json" })], "map"));
});

test("WB-19, WB-A7: only paths must differ, by exact equality", () => {
  refused(legal([file("main.js"), file("main.js")]));
  expect(() => parse(legal([file("main.js"), file("Main.js"), file("\u00e9"), file("e\u0301")]))).not.toThrow();
});

test("WB-36, WB-A8: anything but strict JSON is refused", () => {
  const text = JSON.stringify(legal([file("main.js")]));
  refused(`\ufeff${text}`);
  refused(text.replace('"entrypoint"', '"entrypoint":"main.js","entrypoint"'));
  refused(text.replace(`"path":"main.js"`, `"path":"main.js","path":"main.js"`));
  refused(text.slice(0, -1));
  refused(`${text} x`);
  refused("");
  refused("[]");
  refused(`${"[".repeat(5000)}${"]".repeat(5000)}`);
  expect(() => parseManifest(Uint8Array.of(0x22, 0xff, 0x22))).toThrow(ManifestFault);
});

test("WB-18: a path is relative, POSIX and free of what could mean something else", () => {
  for (const path of ["a", "a/b.c", "...", "a..b/..c", " ", "a b", "é/日本", "%2e%2e/x", "C:x", "a:b", "~", "-"]) {
    expect([path, isBundlePath(path)]).toEqual([path, true]);
  }
  const bad = [
    "",
    "/a",
    "a/",
    "a//b",
    ".",
    "..",
    "./a",
    "a/..",
    "a/./b",
    "a\\b",
    "a?b",
    "a#b",
    "a\0",
    "\n",
    "\u007f",
    "\ud800",
  ];
  for (const path of bad) expect([path, isBundlePath(path)]).toEqual([path, false]);
});

test("WB-18: 1024 bytes of UTF-8, not characters", () => {
  expect(isBundlePath("x".repeat(1024))).toBe(true);
  expect(isBundlePath("x".repeat(1025))).toBe(false);
  expect(isBundlePath("é".repeat(512))).toBe(true);
  expect(isBundlePath("é".repeat(512) + "x")).toBe(false);
});

test("WB-18: an accepted path is one that POSIX resolution leaves alone", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom("a", ".", "/", "\\", "?", "é") }), (path) => {
      const plain = `https://h/${path}` === new URL(`https://h/${encodeURI(path)}`).href.replaceAll("%C3%A9", "é");
      if (isBundlePath(path)) expect(plain).toBe(true);
    }),
  );
});

test("WB-9, WB-20: only plain https URLs in ASCII of at most 8192 characters", () => {
  const spec = (url: string): unknown => parseWorkerBundle({ artifact: { url, sha256: DIGEST } });
  const head = "https://h.example/";
  for (const url of [
    head,
    "https://h.example",
    "https://h.example:8443/a/b%20c",
    head + "x".repeat(8192 - head.length),
  ]) {
    expect(() => spec(url)).not.toThrow();
  }
  const bad = [
    "http://h.example/",
    "HTTPS://h.example/",
    "//h.example/",
    "https://",
    "https:///x",
    "https://u@h.example/",
    "https://u:p@h.example/",
    "https://h.example/?q",
    "https://h.example/?",
    "https://h.example/#f",
    "https://h.example/#",
    "https://h.example/é",
    "https://h.example/a b",
    " https://h.example/",
    "https://h.example/\n",
    head + "x".repeat(8193 - head.length),
  ];
  for (const url of bad) {
    expect(() => spec(url)).toThrow();
    refused(legal([file("main.js", { url })]));
  }
});

test("WB-10, WB-21: a digest is 64 lowercase hexadecimal digits", () => {
  for (const sha256 of ["A".repeat(64), "a".repeat(63), "a".repeat(65), `sha256:${DIGEST}`, "g".repeat(64), ""]) {
    expect(() => parseWorkerBundle({ artifact: { url: "https://h/m", sha256 } })).toThrow();
    refused(legal([file("main.js", { sha256 })]));
  }
});

test("WB-12: what is wrong with a manifest is said without its URLs", () => {
  let message = "";
  try {
    parse(legal([file("main.js", { url: "https://h.example/secret-token?x" })]));
  } catch (error) {
    message = String(error);
  }
  expect(message).toContain("files[0].url");
  expect(message).not.toContain("secret-token");
});
