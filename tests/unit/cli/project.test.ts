import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import * as fc from "fast-check";
import { loadProject, projectOfEntry, readProjectFile } from "../../../cli/project/project.ts";
import { projectFileJsonSchema, RESERVED_KEYS } from "../../../cli/project/project-schema.ts";
import { scaffold } from "../../../cli/project/scaffold.ts";
import { type SecretSources, secretValues } from "../../../cli/project/secrets.ts";
import { UsageError } from "../../../cli/usage-error.ts";
import { rejection } from "../../support/rejection.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

const read = (file: object) => readProjectFile(JSON.stringify(file), "atoll.json");

function complaintOf(file: unknown): string {
  try {
    readProjectFile(typeof file === "string" ? file : JSON.stringify(file), "atoll.json");
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError);
    return (error as UsageError).message;
  }
  throw new Error("the file was taken");
}

const minimal = { name: "hello", main: "src/worker.ts" };

describe("atoll.json", () => {
  test("two keys are enough; the rest has defaults", () => {
    expect(read(minimal)).toEqual({ ...minimal, space: "default", vars: {}, secrets: [], services: {}, weight: 100 });
  });

  test("a complaint names the file, the path, what it should be, and what was probably meant", () => {
    const cases: [unknown, string][] = [
      ["{", "is not valid JSON"],
      ["[]", "must hold one JSON object"],
      [{ main: "x.ts" }, "atoll.json: name must be the name of the Worker"],
      [{ ...minimal, secret: ["A"] }, "unknown key secret; did you mean secrets?"],
      [{ ...minimal, handlers: ["fetsch"] }, 'handlers[0] must be "fetch", "scheduled" or "queue"'],
      [{ ...minimal, handlers: ["fetch", "fetch"] }, "handlers must name each handler only once"],
      [{ ...minimal, secrets: ["lower"] }, "secrets[0] must be a capital letter"],
      [{ ...minimal, vars: { "1a": 1 } }, "vars has the key"],
      [{ ...minimal, vars: { A: { b: "x".repeat(8_193) } } }, "vars.A.b must have at most 8192 characters"],
      [{ ...minimal, services: { "a-b": "x" } }, "services.a-b"],
      [{ ...minimal, services: { A: { worker: 1 } } }, "services.A must be the name of a Worker"],
      [{ ...minimal, endpoint: "yes" }, "endpoint must be true or false"],
      [{ ...minimal, weight: 0 }, "weight must be a percentage from 0.01 to 100"],
    ];
    for (const [file, words] of cases) expect(complaintOf(file)).toContain(words);
  });

  test("WV-35: a name of env belongs to one variable, secret or binding", () => {
    expect(complaintOf({ ...minimal, vars: { TOKEN: 1 }, secrets: ["TOKEN"] })).toContain(
      "secrets[0] must not be named TOKEN, which vars has too",
    );
    expect(complaintOf({ ...minimal, secrets: ["API"], services: { API: "api" } })).toContain("services.API must not");
  });

  test("kinds that later Hosts have are refused by name, and never silently ignored", () => {
    for (const key of RESERVED_KEYS) {
      expect(complaintOf({ ...minimal, [key]: [] })).toBe(
        `atoll.json: ${key} is not supported by this Host yet; remove it`,
      );
    }
  });

  test("whatever JSON stands in the file, the answer is a project or a UsageError", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom("name", "main", "vars", "secrets", "services", "x"), fc.jsonValue()),
        (file) => {
          try {
            read(file);
          } catch (error) {
            expect(error).toBeInstanceOf(UsageError);
          }
        },
      ),
    );
  });

  test("the schema that ships for editors is the one that is kept", async () => {
    const shipped = (await Bun.file(new URL("../../../sdk/atoll.schema.json", import.meta.url)).json()) as object;
    expect(shipped).toEqual(projectFileJsonSchema());
  });
});

describe("a project", () => {
  test("paths are relative to atoll.json, and flags say it instead", async () => {
    using directory = temporaryDirectory();
    const file = {
      ...minimal,
      vars: { A: 1, B: "b" },
      secrets: ["TOKEN"],
      services: { API: "api", LIB: { worker: "lib", project: "../lib" } },
      weight: 12.5,
    };
    await Bun.write(join(directory.path, "atoll.json"), JSON.stringify(file));
    const project = await loadProject(directory.path, { space: "team", var: { A: "flag" }, weight: 500 });
    expect(project).toMatchObject({
      name: "hello",
      space: "team",
      main: join(directory.path, "src/worker.ts"),
      vars: { A: "flag", B: "b" },
      services: {
        API: { worker: "api", project: null },
        LIB: { worker: "lib", project: join(directory.path, "../lib") },
      },
      weight: 500,
    });
    expect((await loadProject(directory.path)).weight).toBe(1_250);
    expect(await rejection(loadProject(directory.path, { var: { TOKEN: "x" } }))).toMatchObject({
      message: "--var TOKEN has the name of a secret or a service binding",
    });
  });

  test("without atoll.json the way out is named", async () => {
    using directory = temporaryDirectory();
    expect(await rejection(loadProject(directory.path))).toMatchObject({
      message: expect.stringContaining("atoll init"),
    });
  });

  test("an entry file alone is a project, too", () => {
    expect(projectOfEntry("apps/shop/src/worker.ts")).toMatchObject({
      name: "shop",
      space: "default",
      file: null,
      secrets: [],
      weight: 10_000,
    });
  });

  test("what init writes is a project that its own schema takes", () => {
    const files = scaffold("fresh");
    expect(readProjectFile(files.get("atoll.json") ?? "", "atoll.json").name).toBe("fresh");
    expect([...files.keys()]).toContain("types/atoll.d.ts");
    expect(files.get("types/atoll.d.ts")).toContain("interface ModuleWorker");
  });
});

describe("values of secrets", () => {
  const sources = (more: Partial<SecretSources> = {}): SecretSources => ({
    env: {},
    file: undefined,
    cwd: "/",
    ask: null,
    ...more,
  });

  test("a file that was named beats the environment, which beats a question", async () => {
    using directory = temporaryDirectory();
    await Bun.write(join(directory.path, "secrets.env"), "A='from the file'\n# comment\nexport X=1\n");
    const asked: string[] = [];
    const ask = async (name: string): Promise<string> => {
      asked.push(name);
      return "typed";
    };
    const env = { A: "from env", B: "from env" };
    const given = sources({ env, file: "secrets.env", cwd: directory.path, ask });
    expect(await secretValues(["A", "B", "C"], given)).toEqual({ A: "from the file", B: "from env", C: "typed" });
    expect(asked).toEqual(["C"]);
  });

  test("a secret without a value is named with every way to give one; no value is ever in the words", async () => {
    const missing = await rejection(secretValues(["A", "B"], sources({ env: { A: "s3cret", B: "" } })));
    const { message } = missing as Error;
    expect(message).toContain("the secret B has no value");
    expect(message).toContain("--secrets-file");
    expect(message).not.toContain("s3cret");
    expect(await rejection(secretValues(["A"], sources({ file: "none.env" })))).toMatchObject({
      message: "none.env cannot be read; check the path given with --secrets-file",
    });
  });
});
