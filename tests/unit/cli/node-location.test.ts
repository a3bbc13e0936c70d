import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { UnreachableError } from "../../../cli/client/api-error.ts";
import { type LocationFlags, locateNode } from "../../../cli/client/node-location.ts";
import { UsageError } from "../../../cli/usage-error.ts";
import { rejection } from "../../support/rejection.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

const NOTE = {
  http: "http://127.0.0.1:8080",
  https: "https://127.0.0.1:8443",
  baseUrl: "https://127.0.0.1:8443/apis/forms.takoform.com/v2",
  caFile: "tls/ca.pem",
  adminTokenFile: "admin-token",
  pid: 1,
};

async function withNode(directory: string, data = ".atoll/data", token = "admin-secret"): Promise<void> {
  await Bun.write(join(directory, data, "node.json"), JSON.stringify(NOTE));
  await Bun.write(join(directory, data, "admin-token"), `${token}\n`);
}

const locate = (cwd: string, flags: LocationFlags = {}, env: Record<string, string> = {}) =>
  locateNode(flags, env, cwd);

describe("locateNode", () => {
  test("without a word it is the local node of the default data directory, with the admin's token", async () => {
    using directory = temporaryDirectory();
    await withNode(directory.path);
    expect(await locate(directory.path)).toEqual({
      origin: NOTE.http,
      baseUrl: { must: "equal", value: NOTE.baseUrl },
      token: "admin-secret",
      ca: null,
      description: "the node of .atoll/data",
    });
  });

  test("--data beats ATOLL_URL, which beats ATOLL_DATA; --url and --data exclude each other", async () => {
    using directory = temporaryDirectory();
    await withNode(directory.path, "one", "token-one");
    await withNode(directory.path, "two", "token-two");
    await withNode(directory.path, ".atoll/data", "token-default");
    const env = { ATOLL_DATA: "two", ATOLL_TOKEN: "env-token" };
    expect((await locate(directory.path, { data: "one" }, env)).token).toBe("token-one");
    expect((await locate(directory.path, {}, env)).token).toBe("token-two");
    expect((await locate(directory.path, { data: "one" }, { ...env, ATOLL_URL: "https://a.example" })).token).toBe(
      "token-one",
    );
    expect(await locate(directory.path, {}, { ...env, ATOLL_URL: "https://a.example" })).toMatchObject({
      origin: "https://a.example",
      token: "env-token",
      baseUrl: { must: "be on the origin" },
    });
    expect(await rejection(locate(directory.path, { url: "https://a.example", data: "one" }))).toBeInstanceOf(
      UsageError,
    );
  });

  test("a token of the environment never goes to a node that was not named by URL", async () => {
    using directory = temporaryDirectory();
    await withNode(directory.path);
    const located = await locate(directory.path, {}, { ATOLL_TOKEN: "for-another-node", ATOLL_TOKEN_FILE: "x" });
    expect(located.token).toBe("admin-secret");
  });

  test("--token-file beats ATOLL_TOKEN, which beats ATOLL_TOKEN_FILE", async () => {
    using directory = temporaryDirectory();
    await Bun.write(join(directory.path, "a"), "  token-a\n");
    await Bun.write(join(directory.path, "b"), "token-b");
    const url = "https://a.example:9443";
    const env = { ATOLL_TOKEN: "token-env", ATOLL_TOKEN_FILE: "b" };
    expect((await locate(directory.path, { url, tokenFile: "a" }, env)).token).toBe("token-a");
    expect((await locate(directory.path, { url }, env)).token).toBe("token-env");
    expect((await locate(directory.path, { url }, { ATOLL_TOKEN_FILE: "b" })).token).toBe("token-b");
    expect((await rejection(locate(directory.path, { url }))).message).toContain("needs a token");
  });

  test("a token crosses no network in the clear", async () => {
    using directory = temporaryDirectory();
    await Bun.write(join(directory.path, "t"), "token");
    for (const url of ["http://127.0.0.1:8080", "http://localhost:1", "http://[::1]:1", "http://x.atoll.localhost"]) {
      expect((await locate(directory.path, { url, tokenFile: "t" })).baseUrl).toEqual({ must: "exist" });
    }
    for (const url of ["http://a.example", "http://10.0.0.1", "http://127.0.0.1.evil.example", "http://notlocalhost"]) {
      expect((await rejection(locate(directory.path, { url, tokenFile: "t" }))).message).toContain("in the clear");
    }
  });

  test("what is no origin is refused in plain words", async () => {
    for (const url of [
      "a.example",
      "ftp://a.example",
      "https://u:p@a.example",
      "https://a.example/api",
      "https://a.example?x",
    ]) {
      expect(await rejection(locate("/", { url, tokenFile: "t" }))).toBeInstanceOf(UsageError);
    }
  });

  test("a node that never was, a damaged note, and files that cannot be read are told apart", async () => {
    using directory = temporaryDirectory();
    const none = await rejection(locate(directory.path, { data: "nothing" }));
    expect(none).toBeInstanceOf(UnreachableError);
    expect((none as UnreachableError).hint).toContain("atoll serve --data nothing");
    for (const damaged of ["{", "[]", '{"http":1}']) {
      await Bun.write(join(directory.path, "bad/node.json"), damaged);
      expect((await rejection(locate(directory.path, { data: "bad" }))).message).toContain("damaged");
    }
    await withNode(directory.path);
    await Bun.write(join(directory.path, ".atoll/data/admin-token"), "\n");
    expect((await rejection(locate(directory.path))).message).toContain("holds no token");
    expect((await rejection(locate(directory.path, { tokenFile: "missing" }))).message).toContain(
      "--token-file cannot be read",
    );
  });

  test("--ca-file is read for a node elsewhere", async () => {
    using directory = temporaryDirectory();
    await Bun.write(join(directory.path, "ca.pem"), "PEM");
    await Bun.write(join(directory.path, "t"), "token");
    expect((await locate(directory.path, { url: "https://a.example", tokenFile: "t", caFile: "ca.pem" })).ca).toBe(
      "PEM",
    );
  });
});
