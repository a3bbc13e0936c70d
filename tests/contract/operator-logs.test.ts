// The log stream over a real socket: who sees what, what a client is told that it missed, and what is left when it goes.
import { afterEach, describe, expect, test } from "bun:test";
import type { ResourceUid, SpaceName } from "../../base/ids.ts";
import { silentLogger } from "../../base/log.ts";
import { SteppedClock } from "../../base/stepped-clock.ts";
import { createApi } from "../../api/server.ts";
import { serverEvents } from "../../cli/client/event-stream.ts";
import { DEFAULT_LOG_LIMITS, LogBus } from "../../runtime/logs/log-bus.ts";
import type { LogEntry } from "../../runtime/logs/log-entry.ts";
import { ControlRig, hostConfig } from "../support/control-rig.ts";

interface Got {
  readonly name: string;
  readonly data: Record<string, unknown>;
}

class LogRig {
  readonly rig = new ControlRig();
  readonly clock = new SteppedClock(Date.UTC(2026, 0, 1));
  readonly bus: LogBus;
  readonly #server: Bun.Server<undefined>;

  constructor(run = "run1", bus = new LogBus()) {
    this.bus = bus;
    const { control, principals, artifacts } = this.rig;
    const telemetry = { logs: bus, run, clock: this.clock, nodeClock: this.clock, metrics: () => "", test: null };
    const api = createApi({ control, principals, artifacts, host: hostConfig(), telemetry, log: silentLogger });
    this.#server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      idleTimeout: 0,
      fetch: (request) => api.handle(request),
    });
  }

  open(
    query: string,
    options: { readonly token?: string; readonly lastId?: string; readonly signal?: AbortSignal } = {},
  ) {
    const { token = this.rig.admin, lastId, signal } = options;
    return fetch(`http://127.0.0.1:${this.#server.port}/operator/v1/logs${query}`, {
      headers: { authorization: `Bearer ${token}`, ...(lastId === undefined ? {} : { "last-event-id": lastId }) },
      ...(signal === undefined ? {} : { signal }),
    });
  }

  /** What is kept, as a client gets it that does not follow. */
  async kept(query: string, options: { readonly token?: string; readonly lastId?: string } = {}) {
    const ids: string[] = [];
    const got: Got[] = [];
    const response = await this.open(`${query}${query === "" ? "?" : "&"}follow=false`, options);
    if (response.body === null) throw new Error("no body");
    for await (const event of serverEvents(response.body, (id) => ids.push(id))) {
      got.push({ name: event.name, data: JSON.parse(event.data) as Record<string, unknown> });
    }
    return {
      got,
      ids,
      texts: got.filter(({ name }) => name === "log").map(({ data }) => data["message"] ?? data["path"]),
    };
  }

  async refusal(query: string, options: { readonly token?: string; readonly lastId?: string } = {}) {
    const response = await this.open(query, options);
    return `${response.status} ${((await response.json()) as { code: string }).code}`;
  }

  stop(): void {
    void this.#server.stop(true);
  }
}

/** A client that follows. */
class Follower {
  readonly #events: AsyncGenerator<{ readonly name: string; readonly data: string }, void>;
  lastId = "";

  private constructor(body: ReadableStream<Uint8Array>) {
    this.#events = serverEvents(body, (id) => {
      this.lastId = id;
    });
  }

  static async open(rig: LogRig, query: string, options: Parameters<LogRig["open"]>[1] = {}): Promise<Follower> {
    const response = await rig.open(query, options);
    if (response.status !== 200 || response.body === null) throw new Error(`refused with ${response.status}`);
    return new Follower(response.body);
  }

  async next(): Promise<Got | null> {
    const { done, value } = await this.#events.next();
    return done === true ? null : { name: value.name, data: JSON.parse(value.data) as Record<string, unknown> };
  }

  async text(): Promise<unknown> {
    return (await this.next())?.data["message"];
  }
}

function line(message: string, more: Partial<LogEntry> = {}): LogEntry {
  return {
    kind: "console",
    atMs: Date.UTC(2026, 0, 1, 12),
    space: "default" as SpaceName,
    worker: "hello",
    workerUid: "uid-hello" as ResourceUid,
    version: "v1",
    versionUid: "uid-v1" as ResourceUid,
    invocation: "1-1",
    level: "info",
    message,
    ...more,
  } as LogEntry;
}

const inSpace = (space: string) => ({ space: space as SpaceName, workerUid: `uid-${space}` as ResourceUid });

let rig: LogRig;
afterEach(() => rig.stop());

/** Resolves once nobody listens; the end of a test that waits in vain is its time-out. */
async function nobodyListens(bus: LogBus): Promise<void> {
  while (bus.listeners > 0) await new Promise<void>((resolve) => setImmediate(resolve));
}

describe("who sees what", () => {
  test("HA-44: without a valid token there is nothing to see", async () => {
    rig = new LogRig();
    expect(await rig.refusal("", { token: "atoll_no_token" })).toBe("401 unauthenticated");
  });

  test("HA-45, HA-50: a principal sees the Spaces that it may read; others do not exist for it", async () => {
    rig = new LogRig();
    rig.rig.principals.createSpace("mine");
    rig.rig.principals.createSpace("theirs");
    rig.rig.principals.createSpace("written");
    const token = rig.rig.token("alice", "mine", ["read"]);
    const writer = rig.rig.token("bob", "written", ["write"]);
    rig.bus.publish(line("mine", inSpace("mine")));
    rig.bus.publish(line("theirs", inSpace("theirs")));
    expect((await rig.kept("?tail=10", { token })).texts).toEqual(["mine"]);
    expect((await rig.kept("?tail=10&space=mine", { token })).texts).toEqual(["mine"]);
    expect((await rig.kept("?tail=10")).texts).toEqual(["mine", "theirs"]);
    expect((await rig.kept("?tail=10&space=theirs")).texts).toEqual(["theirs"]);
    const unknown = [await rig.refusal("?space=theirs", { token }), await rig.refusal("?space=nowhere", { token })];
    expect(unknown).toEqual(["404 not_found", "404 not_found"]);
    expect(await rig.refusal("?space=written", { token: writer })).toBe("403 forbidden");
    expect(await rig.refusal("", { token: writer })).toBe("403 forbidden");
    // A Worker's name is no way around it.
    expect((await rig.kept("?tail=10&worker=uid-theirs", { token })).texts).toEqual([]);
  });

  test("HA-120: an open stream ends for a token that is revoked, and shows nothing more of a Space that is taken away", async () => {
    rig = new LogRig();
    const { principals } = rig.rig;
    for (const space of ["one", "two"]) principals.createSpace(space);
    const issued = principals.issue({ principal: "alice", spaces: ["one", "two"] });
    const follower = await Follower.open(rig, "?tail=1", issued);
    rig.bus.publish(line("first", inSpace("one")));
    expect(await follower.text()).toBe("first");
    principals.setGrant("alice", "one", []);
    rig.bus.publish(line("hidden", inSpace("one")));
    rig.bus.publish(line("shown", inSpace("two")));
    expect(await follower.text()).toBe("shown");
    principals.revoke(issued.id);
    rig.bus.publish(line("too late", inSpace("two")));
    expect(await follower.next()).toEqual({ name: "end", data: { reason: "unauthenticated" } });
    expect(await follower.next()).toBeNull();
    await nobodyListens(rig.bus);
  });
});

describe("what is shown", () => {
  test("entries carry what a person needs, and a request no query", async () => {
    rig = new LogRig();
    rig.bus.publish(line("two\nlines"));
    const { message: _, ...who } = line("") as Extract<LogEntry, { kind: "console" | "error" }>;
    const answer = { method: "GET", path: "/a", status: 504, durationMs: 1.23456, outcome: "cpu_limit" } as const;
    rig.bus.publish({ ...who, ...answer, kind: "request", level: "error" });
    const { got, ids } = await rig.kept("?tail=2");
    const common = { time: "2026-01-01T12:00:00.000Z", space: "default", worker: "hello", workerUid: "uid-hello" };
    const version = { version: "v1", versionUid: "uid-v1", invocation: "1-1" };
    expect(got).toEqual([
      { name: "log", data: { ...common, ...version, kind: "console", level: "info", message: "two\nlines" } },
      { name: "log", data: { ...common, ...version, kind: "request", level: "error", ...answer, durationMs: 1.235 } },
      { name: "end", data: { reason: "complete" } },
    ]);
    expect(ids).toEqual(["run1-0", "run1-1", "run1-2"]);
  });

  test("filters by Worker, level, Version, invocation, kind and time", async () => {
    rig = new LogRig();
    rig.bus.publish(line("debug", { level: "debug", atMs: rig.clock.nowMs() - 60_000 } as Partial<LogEntry>));
    rig.bus.publish(line("error", { kind: "error", level: "error", version: "v2", atMs: rig.clock.nowMs() }));
    rig.bus.publish(line("other", { worker: "other", workerUid: "uid-o" as ResourceUid, invocation: "1-9" }));
    for (const [query, texts] of [
      ["?tail=9", ["debug", "error", "other"]],
      ["?tail=1", ["other"]],
      ["?tail=9&worker=hello", ["debug", "error"]],
      ["?tail=9&worker=uid-o", ["other"]],
      ["?tail=9&level=warn", ["error"]],
      ["?tail=9&version=v2", ["error"]],
      ["?tail=9&invocation=1-9", ["other"]],
      ["?tail=9&kind=error,request", ["error"]],
      ["?since=30s&worker=hello", ["error"]],
      ["?since=2025-12-31T00:00:00Z&worker=hello&tail=1", ["error"]],
      ["", []],
    ] as const) {
      expect([query, (await rig.kept(query)).texts as readonly unknown[]]).toEqual([query, texts]);
    }
  });

  test("HA-24: what is malformed is refused before a stream begins", async () => {
    rig = new LogRig();
    for (const query of [
      "?tail=-1",
      "?tail=x",
      "?tail=10001",
      "?level=loud",
      "?kind=all",
      "?follow=maybe",
      "?since=soon",
    ]) {
      expect([query, await rig.refusal(query)]).toEqual([query, "400 invalid_request"]);
    }
    for (const query of ["?more=1", "?tail=1&tail=2", "?worker=a/b", "?version="]) {
      expect([query, await rig.refusal(query)]).toEqual([query, "400 invalid_request"]);
    }
    expect(await rig.refusal("", { lastId: "?" })).toBe("400 invalid_request");
    expect(rig.bus.listeners).toBe(0);
  });
});

describe("a stream that is followed", () => {
  test("begins with the past that was asked for, goes on with what comes, and beats when nothing does", async () => {
    rig = new LogRig();
    rig.bus.publish(line("before"));
    const response = await rig.open("?tail=1");
    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(response.headers.get("cache-control")).toBe("no-store");
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    const until = async (what: string): Promise<void> => {
      while (!text.includes(what)) text += (await reader?.read())?.value ?? "";
    };
    await until("before");
    rig.bus.publish(line("after"));
    await until("after");
    // The stream waits on the stepped clock once it has asked for more.
    while (rig.clock.nextMs === Number.POSITIVE_INFINITY) await new Promise<void>((resolve) => setImmediate(resolve));
    await rig.clock.advance(15_000);
    await until(": still here\n\n");
    await reader?.cancel();
    await nobodyListens(rig.bus);
  });

  test("resumes behind the last event, and says when what followed is gone, or was another run's", async () => {
    const lines = { entriesMax: 3, charsMax: 10_000 };
    rig = new LogRig("run1", new LogBus({ ...DEFAULT_LOG_LIMITS, lines }));
    for (const text of ["a", "b", "c"]) rig.bus.publish(line(text));
    expect((await rig.kept("", { lastId: "run1-1" })).texts).toEqual(["b", "c"]);
    for (const text of ["d", "e"]) rig.bus.publish(line(text));
    const { got } = await rig.kept("", { lastId: "run1-1" });
    expect(got[0]).toEqual({ name: "gap", data: { reason: "older entries are kept no longer" } });
    expect(got.slice(1, -1).map(({ data }) => data["message"])).toEqual(["c", "d", "e"]);
    const other = await rig.kept("", { lastId: "run0-9000" });
    expect(other.got[0]).toEqual({ name: "gap", data: { reason: "the node was started again" } });
    expect(other.texts).toEqual(["c", "d", "e"]);
    // Also a stream that brought nothing says where it began.
    const quiet = await rig.kept("");
    expect([quiet.texts, quiet.ids]).toEqual([[], ["run1-5"]]);
  });

  test("a client that does not read costs the producer nothing, and learns how much it missed", async () => {
    const subscription = { entriesMax: 100, charsMax: 100_000 };
    rig = new LogRig("run1", new LogBus({ ...DEFAULT_LOG_LIMITS, subscription }));
    const follower = await Follower.open(rig, "");
    // More than sockets hold: what a client does not take piles up in its queue, and beyond that is let go.
    const text = "x".repeat(8_000);
    const count = 4_000;
    for (let i = 0; i < count; i++) {
      rig.bus.publish(line(text));
      if (i % 100 === 99) await new Promise<void>((resolve) => setImmediate(resolve));
    }
    rig.bus.publish(line("last"));
    expect(rig.bus.lost).toBeGreaterThan(0);
    let got = 0;
    let dropped = 0;
    while (got + dropped < count + 1) {
      const event = await follower.next();
      if (event?.name === "log") got += 1;
      else if (event?.name === "dropped") dropped += Number(event.data["count"]);
      else throw new Error(`unexpected ${event?.name}`);
    }
    expect([got + dropped, dropped]).toEqual([count + 1, rig.bus.lost]);
  });

  test("when the client goes, nothing of it stays; when the node stops, the client is told", async () => {
    rig = new LogRig();
    const gone = new AbortController();
    await Follower.open(rig, "", { signal: gone.signal });
    const staying = await Follower.open(rig, "");
    expect(rig.bus.listeners).toBe(2);
    gone.abort();
    while (rig.bus.listeners > 1) await new Promise<void>((resolve) => setImmediate(resolve));
    rig.bus.close();
    expect(await staying.next()).toEqual({ name: "end", data: { reason: "stopping" } });
    expect(rig.bus.listeners).toBe(0);
  });
});
