import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { type ConfigFlags, loadConfig } from "../../../cli/config.ts";
import { hostFileJsonSchema, HostFileSchema } from "../../../cli/config-schema.ts";
import { UsageError } from "../../../cli/usage-error.ts";
import { rejection } from "../../support/rejection.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

const load = (flags: ConfigFlags = {}, env: Record<string, string> = {}, cwd = "/somewhere") =>
  loadConfig({ flags, env, cwd });

async function complaintAbout(file: unknown): Promise<string> {
  using directory = temporaryDirectory();
  await Bun.write(join(directory.path, "host.json"), typeof file === "string" ? file : JSON.stringify(file));
  const error = await rejection(load({ config: "host.json" }, {}, directory.path));
  expect(error).toBeInstanceOf(UsageError);
  return error.message;
}

describe("loadConfig", () => {
  test("without anything said there is a complete configuration, and nobody can change it", async () => {
    const config = await load();
    expect(config.data).toBe("/somewhere/.atoll/data");
    expect(config.listen).toEqual({ hostname: "127.0.0.1", port: 8080 });
    expect(config.tlsListen).toEqual({ hostname: "127.0.0.1", port: 8443 });
    expect(config.limits.cpuMs).toBe(30_000);
    expect(config.replayWindowSeconds).toBe(86_400);
    expect(config.isolation).toBe("thread");
    expect(config.publicUrl).toBeUndefined();
    expect(Object.isFrozen(config) && Object.isFrozen(config.limits) && Object.isFrozen(config.egress.allow)).toBe(
      true,
    );
  });

  test("a flag beats the environment, which beats the file, which beats the default", async () => {
    using directory = temporaryDirectory();
    await Bun.write(
      join(directory.path, "host.json"),
      JSON.stringify({
        listen: "1.1.1.1:1",
        tlsListen: "1.1.1.1:2",
        endpointDomain: "file.example",
        log: { level: "warn" },
      }),
    );
    const env = {
      ATOLL_CONFIG: "host.json",
      ATOLL_LISTEN: "2.2.2.2:1",
      ATOLL_TLS_LISTEN: "2.2.2.2:2",
      ATOLL_LOG_LEVEL: "",
    };
    const config = await load({ listen: "[::1]:3" }, env, directory.path);
    expect(config.listen).toEqual({ hostname: "::1", port: 3 });
    expect(config.tlsListen).toEqual({ hostname: "2.2.2.2", port: 2 });
    expect(config.endpointDomain).toBe("file.example");
    expect(config.log.level).toBe("warn");
    expect((await load({ logLevel: "debug" }, env, directory.path)).log.level).toBe("debug");
  });

  test("relative paths of the file start at the file, those of flags at the working directory", async () => {
    using directory = temporaryDirectory();
    const file = { data: "data", tls: { certFile: "tls/cert.pem", keyFile: "/abs/key.pem" } };
    await Bun.write(join(directory.path, "etc/host.json"), JSON.stringify(file));
    const config = await load({ config: "etc/host.json" }, {}, directory.path);
    expect(config.data).toBe(join(directory.path, "etc/data"));
    expect(config.tls).toEqual({ certFile: join(directory.path, "etc/tls/cert.pem"), keyFile: "/abs/key.pem" });
    const flagged = await load({ config: "etc/host.json", data: "other" }, {}, directory.path);
    expect(flagged.data).toBe(join(directory.path, "other"));
  });

  test("a complaint names the key, what it should be, and the key that was meant", async () => {
    expect(await complaintAbout({ limits: { cpums: 1 } })).toBe(
      "host.json: unknown key limits.cpums; did you mean limits.cpuMs?",
    );
    expect(await complaintAbout({ lisen: "x" })).toContain("unknown key lisen; did you mean listen?");
    expect(await complaintAbout({ somethingElse: 1 })).toBe("host.json: unknown key somethingElse");
    expect(await complaintAbout({ limits: { cpuMs: 0 } })).toContain("limits.cpuMs must be a whole number from 1");
    expect(await complaintAbout({ limits: { cpuMs: 1.5 } })).toContain("limits.cpuMs must be a whole number");
    expect(await complaintAbout({ limits: [] })).toContain("limits must be an object");
    expect(await complaintAbout({ egress: { allow: ["10.0.0.0/8", "a b"] } })).toContain(
      "egress.allow[1] must be an origin",
    );
    expect(await complaintAbout({ artifacts: { allowOrigins: [{ orign: "https://a" }] } })).toContain(
      "unknown key artifacts.allowOrigins[0].orign; did you mean artifacts.allowOrigins[0].origin?",
    );
    expect(await complaintAbout({ tls: { certFile: "a" } })).toContain("tls.keyFile");
    expect(await complaintAbout({ isolation: "process" })).toContain("isolation must be");
  });

  test("what is wrong with a flag or a variable is said of that, not of the file", async () => {
    expect((await rejection(load({ listen: "8080" }))).message).toMatch(/^--listen must be "host:port"/);
    expect((await rejection(load({ listen: "h:70000" }))).message).toMatch(/^--listen must have a port/);
    expect((await rejection(load({}, { ATOLL_LOG_LEVEL: "loud" }))).message).toMatch(/^ATOLL_LOG_LEVEL must be one of/);
  });

  test("HA-36: a public URL is an https origin and nothing more", async () => {
    expect((await load({ publicUrl: "https://atoll.example.com:8443" })).publicUrl).toBe(
      "https://atoll.example.com:8443",
    );
    for (const bad of [
      "http://a.example",
      "https://a.example/",
      "https://a.example/x",
      "https://u@a.example",
      "a.example",
      "https://A.example",
    ]) {
      expect((await rejection(load({ publicUrl: bad }))).message).toContain("--public-url");
    }
  });

  test("an unreadable, broken or odd file is one plain line", async () => {
    expect((await rejection(load({ config: "missing.json" }))).message).toContain("missing.json cannot be read");
    expect(await complaintAbout("{ oops")).toContain("not valid JSON");
    expect(await complaintAbout("[]")).toContain("one JSON object");
  });
});

describe("the keys", () => {
  const leaves = (value: unknown, path = ""): [string, unknown][] => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return [[path, value]];
    return Object.entries(value).flatMap(([key, inner]) => leaves(inner, path === "" ? key : `${path}.${key}`));
  };

  test("each is documented with its real default", async () => {
    const page = await Bun.file(new URL("../../../docs/configuration.md", import.meta.url)).text();
    for (const [key, value] of leaves(HostFileSchema.parse({}))) {
      const row = page.split("\n").find((line) => line.startsWith(`| \`${key}\``));
      expect(row ?? `docs/configuration.md has no row for ${key}`).toContain(
        Array.isArray(value) ? "`[]`" : `\`${String(value)}\``,
      );
    }
    for (const key of ["publicUrl", "tls.certFile", "tls.keyFile"]) expect(page).toContain(`| \`${key}\``);
  });

  test("the JSON Schema has every one of them, described, and refuses others", () => {
    const schema = hostFileJsonSchema() as {
      additionalProperties: boolean;
      properties: Record<string, { description?: string; properties?: object }>;
    };
    expect(schema.additionalProperties).toBe(false);
    expect(Object.keys(schema.properties).sort()).toEqual(Object.keys(HostFileSchema.shape).sort());
    for (const [key, property] of Object.entries(schema.properties)) {
      expect(property.description ?? property.properties ?? key).not.toBe(key);
    }
  });
});
