import { describe, expect, test } from "bun:test";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AtollError } from "../../../../base/errors.ts";
import type { SpaceName } from "../../../../base/ids.ts";
import { SystemRandom } from "../../../../base/random.ts";
import { SteppedClock } from "../../../../base/stepped-clock.ts";
import { ensureAdmin } from "../../../../control/principals/first-start.ts";
import { Principals } from "../../../../control/principals/principals.ts";
import { mintToken, readToken, sameDigest } from "../../../../control/principals/token.ts";
import { ControlStore } from "../../../../storage/control/control-store.ts";
import { temporaryDirectory } from "../../../support/temporary-directory.ts";

const random = new SystemRandom();
const DEFAULT = "default" as SpaceName;

function fresh() {
  const store = ControlStore.open(":memory:");
  const principals = new Principals({ store, clock: new SteppedClock(), random });
  principals.createSpace("default");
  return { store, principals };
}

/** The code of the AtollError that `act` throws. */
function refusal(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof AtollError) return error.code;
    throw error;
  }
  return "accepted";
}

describe("tokens", () => {
  test("a token is its own proof, is long, and is kept only as a digest", () => {
    const { store, principals } = fresh();
    const { id, token } = principals.issue({ principal: "alice", spaces: ["default"] });
    const secret = token.split("_").slice(2).join("_");
    expect(Buffer.from(secret, "base64url")).toHaveLength(32);
    const row = store.principals.token(id);
    expect(Buffer.from(row?.digest ?? []).toString("hex")).toBe(
      new Bun.CryptoHasher("sha256").update(secret).digest("hex"),
    );
    expect(JSON.stringify([principals.tokens(), row])).not.toContain(secret);
    expect(principals.authenticate(token)?.principal as string).toBe("alice");
  });

  test("anything else opens nothing", () => {
    const { principals } = fresh();
    const { token } = principals.issue({ principal: "alice", spaces: [] });
    const other = principals.issue({ principal: "bob", spaces: [] }).token;
    const crossed = `${token.slice(0, 33)}${other.slice(33)}`;
    for (const text of [
      "",
      "atoll_",
      token.slice(0, -1),
      `${token}A`,
      ` ${token}`,
      token.toUpperCase(),
      crossed,
      mintToken(random).text,
    ]) {
      expect(principals.authenticate(text)).toBeNull();
    }
  });

  test("digests are compared whole, and lengths may differ", () => {
    const token = readToken(mintToken(random).text);
    const digest = token?.digest ?? new Uint8Array();
    expect(sameDigest(digest, digest.slice())).toBe(true);
    expect(sameDigest(digest, digest.slice(1))).toBe(false);
    expect(sameDigest(digest, new Uint8Array(32))).toBe(false);
  });

  test("HA-114: revoking one token leaves the principal and its other tokens", () => {
    const { principals } = fresh();
    const first = principals.issue({ principal: "alice", spaces: ["default"] });
    const second = principals.issue({ principal: "alice", spaces: [] });
    expect(second.spaces).toEqual([DEFAULT]);
    principals.revoke(first.id);
    principals.revoke(first.id);
    expect(principals.authenticate(first.token)).toBeNull();
    expect(principals.authenticate(second.token)?.may("write", DEFAULT)).toBe(true);
    expect(refusal(() => principals.revoke("nobody"))).toBe("not_found");
  });
});

describe("grants", () => {
  test("HA-46: permissions are kept apart, and each Space has its own", () => {
    const { principals } = fresh();
    principals.createSpace("other");
    principals.issue({ principal: "alice", spaces: ["default"], permissions: ["read"] });
    const { token } = principals.issue({ principal: "alice", spaces: ["other"], permissions: ["write", "use"] });
    const caller = principals.authenticate(token);
    const other = "other" as SpaceName;
    expect(["read", "write", "use"].map((it) => caller?.may(it as "read", DEFAULT))).toEqual([true, false, false]);
    expect(["read", "write", "use"].map((it) => caller?.may(it as "read", other))).toEqual([false, true, true]);
    expect(caller?.spaces("read")).toEqual([DEFAULT]);
    expect(caller?.knows("third" as SpaceName)).toBe(false);
  });

  test("taking a grant away works from the next authentication on", () => {
    const { principals } = fresh();
    const { token } = principals.issue({ principal: "alice", spaces: ["default"] });
    principals.setGrant("alice", "default", []);
    expect(principals.authenticate(token)?.knows(DEFAULT)).toBe(false);
    expect(principals.spacesOf("alice" as never)).toEqual([]);
  });

  test("unknown Spaces and principals and malformed names are refused, and a refusal leaves nothing", () => {
    const { principals } = fresh();
    expect(refusal(() => principals.issue({ principal: "alice", spaces: ["default", "nowhere"] }))).toBe("not_found");
    expect(principals.tokens()).toEqual([]);
    expect(principals.principals()).toEqual([]);
    expect(refusal(() => principals.issue({ principal: "a b", spaces: [] }))).toBe("invalid_request");
    expect(refusal(() => principals.createSpace("-x"))).toBe("invalid_request");
    expect(refusal(() => principals.setGrant("nobody", "default", ["read"]))).toBe("not_found");
  });

  test("an admin may do everything everywhere, and stays an admin with another token", () => {
    const { principals } = fresh();
    principals.issue({ principal: "root", spaces: [], admin: true });
    const caller = principals.authenticate(principals.issue({ principal: "root", spaces: [] }).token);
    expect(caller?.admin).toBe(true);
    expect(caller?.spaces("write")).toBeNull();
    expect(caller?.may("use", "anything" as SpaceName)).toBe(true);
  });
});

describe("first start", () => {
  test("it makes the Space and a file of mode 0600 with a working admin token, and later starts keep both", async () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, "admin-token");
    const { principals } = fresh();
    await ensureAdmin(principals, path);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const text = readFileSync(path, "utf8");
    expect(text).toMatch(/^atoll_\S+\n$/);
    expect(principals.authenticate(text.trim())?.admin).toBe(true);
    expect(principals.spaces().map(({ name }) => name as string)).toEqual(["default"]);
    await ensureAdmin(principals, path);
    expect(readFileSync(path, "utf8")).toBe(text);
  });

  test("a missing or dead file is written anew, and the token of the earlier file dies", async () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, "admin-token");
    const { principals } = fresh();
    await ensureAdmin(principals, path);
    const first = readFileSync(path, "utf8").trim();
    const own = principals.issue({ principal: "admin", spaces: [] }).token;
    rmSync(path);
    await ensureAdmin(principals, path);
    const second = readFileSync(path, "utf8").trim();
    expect(principals.authenticate(first)).toBeNull();
    expect(principals.authenticate(second)?.admin).toBe(true);
    expect(principals.authenticate(own)?.admin).toBe(true);
    writeFileSync(path, "nonsense");
    await ensureAdmin(principals, path);
    expect(principals.authenticate(readFileSync(path, "utf8").trim())?.admin).toBe(true);
  });
});
