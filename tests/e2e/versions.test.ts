// WorkerVersions with real inspection, and secrets that nobody but the Worker ever sees.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { WORKER_VERSION } from "../../control/forms/form-urls.ts";
import { type Files, TestNode, type VersionOptions } from "../support/node-rig.ts";

let node: TestNode;
beforeAll(async () => {
  node = await TestNode.start();
});
afterAll(async () => node[Symbol.asyncDispose]());

async function verdict(options: VersionOptions | string | Files): Promise<string> {
  const full = typeof options === "object" && "files" in options ? (options as VersionOptions) : { files: options };
  return await node.api.verdict(await node.createVersion(await node.worker(), full as VersionOptions));
}

const OK = "export default { fetch: () => new Response('ok') };";

describe("inspection", () => {
  test("WV-20, WV-52, MW-A1: the declared handlers are exactly the exported ones", async () => {
    expect(await verdict({ files: OK, handlers: ["fetch"] })).toBe("succeeded");
    for (const [files, handlers] of [
      [OK, ["fetch", "scheduled"]],
      [OK, []],
      [OK, ["scheduled"]],
      ["export default { fetch() {}, scheduled() {} };", ["fetch"]],
      ["export default { fetch: 'no function' };", ["fetch"]],
      ["export default Object.setPrototypeOf({}, null);", ["fetch"]],
    ] as const) {
      expect([files, handlers, await verdict({ files, handlers })]).toEqual([
        files,
        handlers,
        "failed none handler_mismatch",
      ]);
    }
  });

  test("MW-20, MW-A6: the default export is a plain object with own data properties", async () => {
    for (const files of [
      "export const fetch = () => {};",
      "export default class { fetch() {} }",
      "export default new (class { fetch() {} })();",
      "export default [() => {}];",
      "export default () => {};",
      "export default null;",
      "export default Object.create({ fetch() {} });",
    ]) {
      expect([files, await verdict(files)]).toEqual([
        files,
        expect.stringMatching(/^failed none (default_export_invalid|handler_mismatch)$/),
      ]);
    }
  });

  test("MW-39, MW-41, MW-36: static imports that name no module of the bundle are refused before Ready", async () => {
    for (const specifier of ["./missing.js", "node:fs", "lodash", "https://example.com/x.js", "../up.js", "./other"]) {
      const files = { "main.js": `import ${JSON.stringify(specifier)}; ${OK}`, "other.js": "" };
      expect([specifier, await verdict(files)]).toEqual([specifier, "failed none module_not_found"]);
    }
    expect(await verdict({ "main.js": `export * from "./main.js.map"; ${OK}`, "main.js.map": "{}" })).toBe(
      "failed none unsupported_media_type",
    );
  });

  test("MW-32, MW-41: syntax errors, link errors, failing evaluation and invalid bytes say what they are", async () => {
    expect(await verdict(`export default { fetch( };`)).toBe("failed none module_syntax_error");
    expect(await verdict({ "main.js": `import "./b.js"; ${OK}`, "b.js": "let x; let x;" })).toBe(
      "failed none module_syntax_error",
    );
    expect(await verdict({ "main.js": `import { no } from "./b.js"; ${OK}`, "b.js": "" })).toMatch(
      /^failed none module_(syntax_error|evaluation_failed)$/,
    );
    expect(await verdict(`throw new Error("at top level"); ${OK}`)).toBe("failed none module_evaluation_failed");
    expect(await verdict(`await Promise.reject(1); ${OK}`)).toBe("failed none module_evaluation_failed");
    expect(await verdict({ "main.js": Uint8Array.of(0x2f, 0x2f, 0xff) })).toBe("failed none module_invalid");
    expect(await verdict({ "main.js": `import "./t.txt"; ${OK}`, "t.txt": Uint8Array.of(0xc3) })).toBe(
      "failed none module_invalid",
    );
    expect(await verdict({ "main.js": `import "./w.wasm"; ${OK}`, "w.wasm": Uint8Array.of(0, 97, 115) })).toBe(
      "failed none module_invalid",
    );
  });

  test("MW-32: what a refused module throws cannot carry a path or a secret of the host into the Operation", async () => {
    const operation = await node.api.settled(
      await node.createVersion(await node.worker(), { files: `throw new Error("why"); ${OK}` }),
    );
    expect(operation.error.code).toBe("module_evaluation_failed");
    expect(JSON.stringify(operation)).not.toMatch(/\/(?:sandbox|node_modules|tmp)\/|\.realm|atoll-test/);
  });
});

describe("life", () => {
  test("WV-87 … WV-90, HA-88: the same spec is verified again under a new generation; any other is refused", async () => {
    const worker = await node.worker();
    const version = await node.version(worker, { files: OK, vars: { a: 1 } });
    const before = await node.api.resource(version);
    expect(before).toMatchObject({
      generation: 1,
      observedGeneration: 1,
      observed: { ready: true, resolvedBindings: true, bundleVerified: true },
      output: {},
    });
    expect(await node.api.verdict(node.api.update(version, before.spec))).toBe("succeeded");
    expect(await node.api.resource(version)).toMatchObject({ generation: 2, observedGeneration: 2, phase: "idle" });
    for (const change of [{ vars: { a: 2 } }, { handlers: [] }, { bundle: { resourceUid: await node.bundle(OK) } }]) {
      const other = { ...before.spec, ...change };
      // The same bytes under another uid are another bundle.
      expect(await node.api.verdict(node.api.update(version, other))).toBe("422 invalid_spec");
    }
    expect(await node.api.resource(version)).toMatchObject({ generation: 2, spec: before.spec });
  });

  test("WV-91, WV-92, MW-11: a weighted Version, its bundle and its Worker stay; in the right order all go", async () => {
    const { api } = node;
    const { worker, version, deployment, endpoint } = await node.deploy(OK);
    const bundle = (await api.resource(version)).spec.bundle.resourceUid as string;
    for (const uid of [version, bundle, worker]) {
      expect([uid, await api.verdict(api.delete(uid))]).toEqual([uid, "409 dependency_conflict"]);
    }
    for (const uid of [endpoint, deployment, version, bundle, worker]) {
      expect([uid, await api.verdict(api.delete(uid))]).toEqual([uid, "succeeded"]);
      expect([404, 410]).toContain((await api.call("GET", `/resources/${uid}`)).status);
    }
  });
});

describe("secrets", () => {
  const FIRST = "sentinel-first-7f3a9c";
  const SECOND = "sentinel-second-55e1d0";
  const OTHER = "sentinel-other-000000";

  test("WV-44, WV-47: every declared name and no other, never empty, and never changed afterwards", async () => {
    const worker = await node.worker();
    const bundle = await node.bundle(OK);
    const spec = {
      worker: { resourceUid: worker },
      bundle: { resourceUid: bundle },
      handlers: ["fetch"],
      requiredSensitiveVars: ["A", "B"],
    };
    for (const privateInputs of [{ A: "1" }, { A: "1", B: "" }, { A: "1", B: "2", C: "3" }, {}]) {
      expect(await node.api.verdict(node.api.create(WORKER_VERSION, spec, { privateInputs }))).toBe("422 invalid_spec");
    }
    const version = await node.api.done(
      node.api.create(WORKER_VERSION, spec, { privateInputs: { A: FIRST, B: SECOND } }),
    );
    const change = (privateInputs: Record<string, string>) =>
      node.api.verdict(node.api.update(version, spec, { privateInputs }));
    expect(await change({ A: FIRST, B: OTHER })).toBe("422 invalid_spec");
    expect(await change({ A: FIRST })).toBe("422 invalid_spec");
    expect(await change({ B: SECOND, A: FIRST })).toBe("succeeded");
    expect(await node.api.verdict(node.api.update(version, spec))).toBe("succeeded");
  });

  test("WV-45, HA-132: the values are in no file, no log line and no answer, in no usual disguise, even after kill -9", async () => {
    const worker = await node.deploy({
      files: `
        export default {
          async fetch(request, env) {
            if (new URL(request.url).pathname === "/fail") throw new Error("no secret in here");
            return new Response(String(env.TOKEN === ${JSON.stringify(FIRST)} && env.KEY === ${JSON.stringify(SECOND)}));
          },
        };`
        .replace(JSON.stringify(FIRST), `["sentinel", "first-7f3a9c"].join("-")`)
        .replace(JSON.stringify(SECOND), `["sentinel", "second-55e1d0"].join("-")`),
      secrets: { TOKEN: FIRST, KEY: SECOND },
    });
    expect(await node.text(worker)).toBe("true");
    expect((await node.fetch(worker, "/fail")).status).toBe(500);
    const spec = (await node.api.resource(worker.version)).spec;
    const refused = await node.api.update(worker.version, spec, { privateInputs: { TOKEN: OTHER, KEY: SECOND } });
    expect(refused.status).toBe(422);
    const malformed = await node.api.call("POST", "/resources", {
      headers: { "idempotency-key": crypto.randomUUID() },
      body: `{"form": 1, "privateInputs": {"TOKEN": "${FIRST}"}, "bad": `,
    });
    expect(malformed.status).toBe(400);

    const { lastOperation } = await node.api.resource(worker.version);
    const answers = await Promise.all([
      node.api.call("GET", `/resources/${worker.version}`),
      node.api.call("GET", "/resources?limit=200"),
      node.api.call("GET", `/operations/${lastOperation}`),
    ]);
    const said = [...answers, refused, malformed].map(({ text }) => text).join("\n");
    expect(leaks(Buffer.from(said))).toEqual([]);

    await node.kill9();
    expect(filesWithLeaks(node.data)).toEqual([]);
    await node.restart();
    expect(await node.text(worker)).toBe("true");
    expect(leaks(Buffer.from(node.log))).toEqual([]);
    expect(filesWithLeaks(node.data)).toEqual([]);
  });

  /** The values as themselves, as base64 at each alignment, as hex, as UTF-16, and as plain hashes. */
  function disguises(): ReadonlyMap<string, Buffer> {
    const found = new Map<string, Buffer>();
    for (const value of [FIRST, SECOND, OTHER]) {
      found.set(`${value} as text`, Buffer.from(value));
      found.set(`${value} reversed`, Buffer.from(value).reverse());
      found.set(`${value} in hex`, Buffer.from(Buffer.from(value).toString("hex")));
      found.set(`${value} in UTF-16`, Buffer.from(value, "utf16le"));
      for (const pad of [0, 1, 2]) {
        const coded = Buffer.from(`${"x".repeat(pad)}${value}`).toString("base64");
        found.set(`${value} in base64 at ${pad}`, Buffer.from(coded.slice(pad === 0 ? 0 : 4, -4)));
      }
      for (const algorithm of ["sha256", "sha1", "md5"] as const) {
        const digest = new Bun.CryptoHasher(algorithm).update(value).digest();
        found.set(`${value} as ${algorithm}`, digest);
        found.set(`${value} as ${algorithm} in hex`, Buffer.from(digest.toString("hex")));
      }
    }
    return found;
  }

  function leaks(content: Buffer): string[] {
    return [...disguises()].filter(([, bytes]) => content.includes(bytes)).map(([name]) => name);
  }

  function filesWithLeaks(directory: string): string[] {
    const faults: string[] = [];
    let files = 0;
    for (const name of readdirSync(directory, { recursive: true, encoding: "utf8" })) {
      const path = join(directory, name);
      if (!statSync(path).isFile()) continue;
      files += 1;
      for (const leak of leaks(readFileSync(path))) faults.push(`${name}: ${leak}`);
    }
    expect(files).toBeGreaterThan(10);
    return faults;
  }

  test("the scan finds what it looks for", () => {
    for (const value of [FIRST, Buffer.from(FIRST).toString("base64"), Buffer.from(`a${FIRST}`).toString("base64")]) {
      expect(leaks(Buffer.from(`in front ${value} behind`))).not.toEqual([]);
    }
    expect(leaks(Buffer.from("sentinel"))).toEqual([]);
  });
});
