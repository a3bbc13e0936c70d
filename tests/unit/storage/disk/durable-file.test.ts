import { afterEach, beforeEach, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureDir, readIfExists, writeDurable } from "../../../../storage/disk/durable-file.ts";
import { rejection } from "../../../support/rejection.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "atoll-durable-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const modeOf = (path: string): number => statSync(path).mode & 0o777;

test("D1: a file has exactly the given bytes and mode, whatever the umask", async () => {
  const path = join(dir, "key");
  const umask = process.umask(0o077);
  try {
    await writeDurable(path, Uint8Array.of(0, 255, 7), 0o644);
  } finally {
    process.umask(umask);
  }
  expect([...readFileSync(path)]).toEqual([0, 255, 7]);
  expect(modeOf(path)).toBe(0o644);
});

test("D2: replacing a file takes the new mode and leaves no draft behind", async () => {
  const path = join(dir, "token");
  await writeDurable(path, "one", 0o644);
  await writeDurable(path, "two", 0o600);
  expect(readFileSync(path, "utf8")).toBe("two");
  expect(modeOf(path)).toBe(0o600);
  expect(readdirSync(dir)).toEqual(["token"]);
});

test("D2: a reader during many replacements always sees one whole version", async () => {
  const path = join(dir, "version");
  const versions = ["a", "b"].map((letter) => letter.repeat(100_000));
  await writeDurable(path, versions[0] as string, 0o600);
  const writes = (async () => {
    for (let i = 0; i < 20; i++) await writeDurable(path, versions[i % 2] as string, 0o600);
  })();
  for (let reads = 0; reads < 60; reads++) {
    const seen = Buffer.from((await readIfExists(path)) ?? new Uint8Array()).toString();
    expect(versions.includes(seen)).toBe(true);
  }
  await writes;
});

test("a write that fails leaves the old file and no draft", async () => {
  const path = join(dir, "taken");
  mkdirSync(path);
  writeFileSync(join(path, "inside"), "kept");
  await rejection(writeDurable(path, "new", 0o600));
  expect(readdirSync(dir)).toEqual(["taken"]);
  expect(readFileSync(join(path, "inside"), "utf8")).toBe("kept");
});

test("readIfExists answers null for what is not there and rejects for what cannot be read", async () => {
  expect(await readIfExists(join(dir, "none"))).toBeNull();
  expect(await readIfExists(join(dir, "none", "below"))).toBeNull();
  expect((await rejection(readIfExists(dir))).code).toBe("EISDIR");
});

test("ensureDir makes missing parents with the mode and leaves existing ones alone", async () => {
  chmodSync(dir, 0o755);
  await ensureDir(join(dir, "a", "b"), 0o700);
  await ensureDir(join(dir, "a", "b"), 0o755);
  expect(modeOf(join(dir, "a"))).toBe(0o700);
  expect(modeOf(join(dir, "a", "b"))).toBe(0o700);
  expect(modeOf(dir)).toBe(0o755);
});
