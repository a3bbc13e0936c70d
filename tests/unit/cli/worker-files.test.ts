import { describe, expect, test } from "bun:test";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { BuildError } from "../../../cli/deploy/build-error.ts";
import { manifestOf } from "../../../cli/deploy/manifest.ts";
import { defaultName, namesOf, versionName } from "../../../cli/deploy/names.ts";
import { buildWorkerFiles, type WorkerFiles } from "../../../cli/deploy/worker-files.ts";
import { UsageError } from "../../../cli/usage-error.ts";
import { parseManifest } from "../../../control/forms/worker-bundle/manifest.ts";
import { rejection } from "../../support/rejection.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

const WASM = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);

const PROJECT: Readonly<Record<string, string | Uint8Array>> = {
  "worker.ts": [
    'import { greet } from "./lib/greet.ts";',
    'import text from "./data/note.txt";',
    'import module from "./data/add.wasm";',
    'import bytes from "./data/blob.bin";',
    'import settings from "./settings.json";',
    "interface Shape { readonly a: number }",
    "export class Room { name: string = 'room'; }",
    "export default { async fetch(): Promise<Response> {",
    "  const shape: Shape = { a: settings.a };",
    "  const late = await import('./lib/late.ts');",
    "  return new Response(greet(text) + shape.a + late.late + String(module) + bytes.byteLength);",
    "} };",
  ].join("\n"),
  "lib/greet.ts": "export const greet = (name: string): string => `hi ${name}`;\n",
  "lib/late.ts": "export const late = 1;\n",
  "data/note.txt": "a note\n",
  "data/add.wasm": WASM,
  "data/blob.bin": new Uint8Array([1, 2, 3]),
  "settings.json": '{"a":1}',
};

async function write(directory: string, files = PROJECT): Promise<string> {
  for (const [path, content] of Object.entries(files)) await Bun.write(join(directory, path), content);
  return join(directory, "worker.ts");
}

async function build(files: Readonly<Record<string, string | Uint8Array>>): Promise<WorkerFiles> {
  using directory = temporaryDirectory();
  return await buildWorkerFiles(await write(directory.path, files));
}

const textOf = (files: WorkerFiles, path: string): string =>
  new TextDecoder().decode(files.files.find((file) => file.path === path)?.bytes);

describe("buildWorkerFiles", () => {
  test("B2: one module of JavaScript, its source map, and the other modules each for itself", async () => {
    const files = await build(PROJECT);
    expect(files.entrypoint).toBe("worker.js");
    expect(files.files.map(({ path, mediaType }) => [path.replace(/-[0-9a-f]{8}\./, "-#."), mediaType])).toEqual([
      ["worker.js", "application/javascript+module"],
      ["worker.js.map", "application/source-map+json"],
      ["assets/add-#.wasm", "application/wasm"],
      ["assets/blob-#.bin", "application/octet-stream"],
      ["assets/note-#.txt", "text/plain"],
    ]);
    const code = textOf(files, "worker.js");
    for (const { path } of files.files.slice(2)) expect(code).toContain(`from "./${path}"`);
    expect(code).not.toContain("interface Shape");
    expect(code).not.toMatch(/\bimport\(/);
    expect(code).toContain("Room");
    for (const file of files.files) {
      expect(file.sha256).toBe(new Bun.CryptoHasher("sha256").update(file.bytes).digest("hex"));
    }
  });

  test("B1: the bytes depend on the sources alone: not on the place, the working directory or the environment", async () => {
    using one = temporaryDirectory();
    using two = temporaryDirectory();
    const entry = await write(one.path);
    cpSync(one.path, join(two.path, "deep/er"), { recursive: true });
    const before = process.cwd();
    const first = manifestOf(await buildWorkerFiles(entry)).sha256;
    const environment = process.env.NODE_ENV;
    try {
      process.chdir(two.path);
      process.env.NODE_ENV = "staging";
      expect(manifestOf(await buildWorkerFiles("deep/er/worker.ts")).sha256).toBe(first);
    } finally {
      process.chdir(before);
      if (environment === undefined) delete process.env.NODE_ENV;
      else process.env.NODE_ENV = environment;
    }
    expect(process.cwd()).toBe(before);
  });

  test("no path of the machine and nothing of the environment is in the bytes", async () => {
    using directory = temporaryDirectory();
    process.env["ATOLL_TEST_SECRET"] = "s3cr3t-value";
    const source = "export default { fetch() { return new Response(process.env.ATOLL_TEST_SECRET); } };";
    const files = await buildWorkerFiles(
      await write(directory.path, {
        ...PROJECT,
        "lib/late.ts": source,
        "worker.ts": `${source}\nimport "./lib/greet.ts";`,
      }),
    );
    delete process.env["ATOLL_TEST_SECRET"];
    for (const { bytes } of files.files) {
      const text = new TextDecoder().decode(bytes);
      expect(text).not.toContain(directory.path);
      expect(text).not.toContain("s3cr3t-value");
    }
  });

  test("WB-14 … WB-22: the manifest is one the Host accepts, and equal files give equal bytes", async () => {
    const files = await build(PROJECT);
    const manifest = manifestOf(files);
    const parsed = parseManifest(manifest.bytes);
    expect(parsed.entrypoint).toBe("worker.js");
    expect(parsed.files.map((file) => file.path)).toEqual(files.files.map((file) => file.path));
    expect(manifestOf(files).sha256).toBe(manifest.sha256);
  });

  test("B3: what no Worker has is refused by name", async () => {
    const refused = async (source: string): Promise<string> => {
      const error = await rejection(build({ "worker.ts": source }));
      expect(error).toBeInstanceOf(BuildError);
      return error.message;
    };
    expect(await refused('import fs from "node:fs"; export default fs;')).toContain("worker.ts imports node:fs");
    expect(await refused('import { Database } from "bun:sqlite"; export default Database;')).toContain("bun:sqlite");
    expect(await refused('import { spawn } from "child_process"; export default spawn;')).toContain("child_process");
    expect(await refused('export default await import("fs/promises");')).toContain("fs/promises");
    expect(await refused('import x from "no-such-package"; export default x;')).toContain("no-such-package");
    expect(await refused("export default {")).toMatch(/^worker\.ts:1:\d+: /);
  });

  test("what has a version in plain JavaScript is bundled", async () => {
    const files = await build({
      "worker.ts": 'import { join } from "node:path"; export default { fetch: () => new Response(join("a", "b")) };',
    });
    expect(textOf(files, "worker.js")).not.toMatch(/from\s*"(?:node:)?path"/);
  });

  test("a file that is not there is one plain line", async () => {
    expect((await rejection(buildWorkerFiles("no/such/worker.ts"))).message).toContain(
      "no/such/worker.ts cannot be read",
    );
  });
});

describe("names", () => {
  test("HA-21: a name is usable when everything made from it is one; others are refused", () => {
    for (const name of ["a", "hello", "A.b_c-9", "x".repeat(105)]) expect(namesOf(name).worker).toBe(name);
    for (const name of ["", "-a", "a b", "ä", "x".repeat(106)]) expect(() => namesOf(name)).toThrow(UsageError);
  });

  test("WV-39, WV-41: specs that mean the same have one version name", () => {
    const names = namesOf("hello");
    const spec = { worker: { resourceUid: "w" }, vars: { b: 1, a: [1, 2] } };
    expect(versionName(names, spec)).toBe(
      versionName(names, { vars: { a: [1, 2], b: 1 }, worker: { resourceUid: "w" } }),
    );
    expect(versionName(names, spec)).not.toBe(versionName(names, { ...spec, vars: { b: 1, a: [2, 1] } }));
    expect(versionName(names, spec)).toMatch(/^hello-v-[0-9a-f]{12}$/);
  });

  test("without a name the file or its directory gives one", () => {
    const cases = {
      "greet.ts": "greet",
      "./examples/hello/worker.ts": "hello",
      "hello/src/index.tsx": "hello",
      "worker.ts": "worker",
      "My App/main.mjs": "my-app",
      "/abs/x.y.js": "x.y",
    };
    for (const [entry, name] of Object.entries(cases)) expect(defaultName(entry)).toBe(name);
  });
});
