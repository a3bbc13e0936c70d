import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { SteppedClock } from "../../../base/stepped-clock.ts";
import { createLogger, type LogOptions } from "../../../cli/log.ts";

function capture(options: Partial<LogOptions> = {}) {
  const lines: string[] = [];
  const log = createLogger({
    level: "debug",
    format: "lines",
    clock: new SteppedClock(),
    sink: { write: (line: string) => void lines.push(line) },
    ...options,
  });
  return { log, lines, last: () => JSON.parse(lines.at(-1) ?? "null") as Record<string, unknown> };
}

describe("the log", () => {
  test("a line is one JSON object with time, level, message and fields", () => {
    const { log, lines } = capture();
    log.with({ shard: "0000", attempt: 1 }).warn("something happened", { attempt: 2 });
    expect(lines).toEqual([
      '{"level":"warn","time":"2026-01-01T00:00:00.000Z","shard":"0000","attempt":2,"message":"something happened"}\n',
    ]);
  });

  test("less important lines than the level are not written", () => {
    const { log, lines } = capture({ level: "warn" });
    log.debug("a");
    log.info("b");
    log.warn("c");
    log.error("d");
    expect(lines.map((line) => (JSON.parse(line) as { message: string }).message)).toEqual(["c", "d"]);
  });

  test("HA-132: values under secret-like names and bearer tokens in text are never written", () => {
    const { log, lines } = capture();
    const secret = "s3cr3t-value";
    for (const name of [
      "authorization",
      "Proxy-Authorization",
      "set-cookie",
      "token",
      "adminToken",
      "client_secret",
      "password",
      "apiKey",
      "privateInputs",
      "secrets",
    ]) {
      log.info("request", { deep: { [name]: secret, list: [{ [name]: [secret] }] } });
      log.with({ [name]: secret }).info("bound");
    }
    log.info("text", { note: `sent Bearer ${secret}`, error: new Error(`Authorization: bearer ${secret}`) });
    expect(lines.join("")).not.toContain(secret);
    log.info("names are no secrets", { adminTokenFile: "/data/admin-token", secretNames: ["A"] });
    expect(lines.at(-1)).toContain("/data/admin-token");
    expect(lines.at(-1)).toContain('["A"]');
  });

  test("a field cannot forge the level, the time or the message of a line", () => {
    const { log, last } = capture();
    log.info("real", { level: "error", time: "never", message: "forged" });
    expect(last()).toMatchObject({
      level: "info",
      time: "2026-01-01T00:00:00.000Z",
      message: "real",
      message_: "forged",
    });
  });

  test("an error shows its name, code, message and cause, and only the top of its stack", () => {
    const { log, last } = capture();
    log.error("failed", { error: Object.assign(new TypeError("bad", { cause: new Error("why") }), { code: "E_BAD" }) });
    const error = last()["error"] as Record<string, unknown>;
    expect(error).toMatchObject({
      name: "TypeError",
      code: "E_BAD",
      message: "bad",
      cause: { name: "Error", message: "why" },
    });
    expect((error["at"] as string[]).length).toBeLessThanOrEqual(3);
  });

  test("any value makes one bounded, parseable line in either format", () => {
    const ring: Record<string, unknown> = {};
    ring["ring"] = ring;
    const values = fc.oneof(
      fc.anything({
        withBigInt: true,
        withDate: true,
        withMap: true,
        withSet: true,
        withTypedArray: true,
        withSparseArray: true,
      }),
      fc.constant(ring),
      fc.constant("x".repeat(100_000)),
      fc.constant(Array.from({ length: 10_000 }, () => "y")),
    );
    fc.assert(
      fc.property(values, fc.string(), (value, message) => {
        const machine = capture();
        machine.log.info(message, { value });
        expect(machine.lines).toHaveLength(1);
        expect(machine.last()["message"]).toBe(message);
        expect(machine.lines[0]?.length).toBeLessThan(1_000_000);
        const people = capture({ format: "people" });
        people.log.info(message, { value });
        expect(people.lines).toHaveLength(1);
        expect(people.lines[0]?.trimEnd()).not.toMatch(/\p{Cc}/u);
      }),
    );
  });

  test("people get short lines", () => {
    const { log, lines } = capture({ format: "people" });
    log.info("shard opened", { shard: "0000", note: "two words", list: [1] });
    expect(lines).toEqual(['00:00:00.000 info  shard opened shard=0000 note="two words" list=[1]\n']);
  });
});
