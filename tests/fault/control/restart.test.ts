// A real process is killed at each instant that leaves a different trace, and started again on the same directory.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FaultPoint } from "../../../control/operations/faults.ts";
import { KEY_VALUE_ENTRY } from "../../support/publisher/key-value-entry.ts";
import { RENDERED_GREETING } from "../../support/publisher/rendered-greeting.ts";

const SERVER = new URL("../../support/control-server.ts", import.meta.url).pathname;
const POINTS: readonly FaultPoint[] = ["after-accept", "before-execute", "after-execute-before-settle", "after-settle"];
const KEY = "the-key-of-the-interrupted-request";
const SETTLED = ["succeeded", "failed"];

let data = "";
const running = new Set<Node>();

beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), "atoll-restart-"));
});

afterEach(async () => {
  for (const node of running) await node.kill();
  rmSync(data, { recursive: true, force: true });
});

class Node {
  readonly #child: Bun.Subprocess<"ignore", "pipe", "inherit">;
  readonly #url: string;
  readonly #token: string;

  private constructor(child: Bun.Subprocess<"ignore", "pipe", "inherit">, url: string, token: string) {
    this.#child = child;
    this.#url = url;
    this.#token = token;
    running.add(this);
  }

  static async start(fault: FaultPoint | "none" = "none", hold = ""): Promise<Node> {
    const command = [process.execPath, "--no-env-file", SERVER, data, fault, hold];
    const child = Bun.spawn(command, { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
    const reader = child.stdout.getReader();
    let text = "";
    while (!text.includes("\n")) {
      const { done, value } = await reader.read();
      if (done) throw new Error(`the node ended before it was ready: ${text}`);
      text += new TextDecoder().decode(value);
    }
    const { url, token } = JSON.parse(text);
    return new Node(child, url, token);
  }

  /** Null when the connection broke. */
  async call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    try {
      const response = await fetch(this.#url + path, {
        method,
        headers: { authorization: `Bearer ${this.#token}`, "content-type": "application/json", ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const json: any = await response.json();
      return { status: response.status, body: json, location: response.headers.get("location") };
    } catch {
      return null;
    }
  }

  /** Asks until the Operation has settled. */
  async settled(id: string): Promise<any> {
    for (let i = 0; i < 5000; i++) {
      const answer = await this.call("GET", `/operations/${id}`);
      if (answer === null || SETTLED.includes(answer.body.status)) return answer?.body;
      await new Promise((resolve) => setImmediate(resolve));
    }
    throw new Error("the Operation does not settle");
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.ended();
  }

  /** Resolves with the signal that ended the process. */
  async ended(): Promise<string> {
    await this.#child.exited;
    running.delete(this);
    return String(this.#child.signalCode);
  }
}

const ENTRY = { form: KEY_VALUE_ENTRY, space: "default", name: "a", spec: { key: "k", value: "v" } };

/** What the backend holds, read from its own file. */
function entries(): readonly (readonly [string, { owner: string; value: string }])[] {
  return JSON.parse(readFileSync(join(data, "publisher", "publisher.json"), "utf8")).entries;
}

type Send = (node: Node) => ReturnType<Node["call"]>;

/** The interrupted request of each kind, on an entry that exists where it must. */
async function prepare(
  action: "create" | "update" | "delete",
): Promise<{ send: Send; generation: number; uid: string | null }> {
  const create: Send = (node) => node.call("POST", "/resources", ENTRY, { "idempotency-key": KEY });
  if (action === "create") return { send: create, generation: 1, uid: null };
  const node = await Node.start();
  const accepted = await node.call("POST", "/resources", ENTRY, { "idempotency-key": "the-key-of-the-preparation" });
  const uid: string = accepted?.body.resourceUid;
  expect((await node.settled(accepted?.body.id)).status).toBe("succeeded");
  await node.kill();
  const headers = { "idempotency-key": KEY, "takoform-expected-generation": "1" };
  const body = action === "update" ? { spec: { key: "k", value: "new" } } : undefined;
  const method = action === "update" ? "PUT" : "DELETE";
  return { send: (node) => node.call(method, `/resources/${uid}`, body, headers), generation: 2, uid };
}

describe("HA-186: the same Operation goes on after kill -9", () => {
  for (const action of ["create", "update", "delete"] as const) {
    for (const point of POINTS) {
      test(`HA-186, HA-121, HA-122: ${action}, killed ${point}`, async () => {
        const { send, generation, uid } = await prepare(action);
        const dying = await Node.start(point);
        await send(dying);
        expect(await dying.ended()).toBe("SIGKILL");

        const node = await Node.start();
        const replay = await send(node);
        expect([200, 202]).toContain(replay?.status as number);
        if (point === "after-settle") expect(replay?.status).toBe(200);
        if (uid !== null) expect(replay?.body.resourceUid).toBe(uid);
        const operation = await node.settled(replay?.body.id);
        expect(operation).toMatchObject({ status: "succeeded", effect: "complete", action, generation });

        const again = await send(node);
        expect([again?.status, again?.body.id]).toEqual([200, operation.id]);
        const listed = await node.call("GET", "/resources");
        if (action === "delete") {
          expect(listed?.body.items).toEqual([]);
          expect(entries()).toEqual([]);
        } else {
          expect(listed?.body.items).toMatchObject([
            { uid: operation.resourceUid, generation, observedGeneration: generation, phase: "idle" },
          ]);
          const value = action === "update" ? "new" : "v";
          expect(entries()).toEqual([["k", { owner: operation.resourceUid, value }]]);
        }
      }, 30_000);
    }
  }

  test("HA-186, HA-102, HA-107, HA-111: what may have been dispatched comes back as reconciling, over several crashes", async () => {
    const { send } = await prepare("create");
    const dying = await Node.start("after-execute-before-settle");
    await send(dying);
    await dying.ended();
    for (let crash = 0; crash < 2; crash++) {
      const holding = await Node.start("none", "hold");
      const replay = await send(holding);
      expect(replay).toMatchObject({ status: 202, body: { status: "reconciling", effect: "unknown" } });
      const busy = await holding.call("DELETE", `/resources/${replay?.body.resourceUid}`, undefined, {
        "idempotency-key": "another-intent-on-the-same-uid",
        "takoform-expected-generation": "1",
      });
      expect(busy).toMatchObject({ status: 409, body: { code: "resource_busy" } });
      await holding.kill();
    }
    const node = await Node.start();
    expect((await node.settled((await send(node))?.body.id)).status).toBe("succeeded");
  }, 30_000);

  test("HA-186, HA-78, HA-99: killed right after acceptance, everything accepted is there and nothing was sent", async () => {
    const { send } = await prepare("create");
    const dying = await Node.start("after-accept");
    expect(await send(dying)).toBeNull();
    await dying.ended();
    const holding = await Node.start("before-execute", "hold");
    // The next node dies as soon as it takes the Operation up, which proves that nobody has to ask for it.
    expect(await holding.ended()).toBe("SIGKILL");
    const node = await Node.start();
    const replay = await send(node);
    expect((await node.settled(replay?.body.id)).status).toBe("succeeded");
    expect((await node.call("GET", "/resources"))?.body.items).toHaveLength(1);
  }, 30_000);

  test("HA-186, HA-133: private inputs survive the crash sealed, and the Operation ends with them", async () => {
    const first = await Node.start();
    const source = await first.call("POST", "/resources", ENTRY, { "idempotency-key": "the-key-of-the-source" });
    await first.settled(source?.body.id);
    await first.kill();
    const secret = "hunter2-across-the-crash";
    const greeting = {
      form: RENDERED_GREETING,
      space: "default",
      name: "g",
      spec: { source: { resourceUid: source?.body.resourceUid }, signed: true },
      privateInputs: { signingKey: secret },
    };
    const send: Send = (node) => node.call("POST", "/resources", greeting, { "idempotency-key": KEY });
    const dying = await Node.start("after-accept");
    await send(dying);
    await dying.ended();
    for (const file of ["control.sqlite", "control.sqlite-wal"]) {
      expect(readFileSync(join(data, file)).includes(secret)).toBe(false);
    }
    const node = await Node.start();
    const operation = await node.settled((await send(node))?.body.id);
    expect(operation.status).toBe("succeeded");
    const { snapshots } = JSON.parse(readFileSync(join(data, "publisher", "publisher.json"), "utf8"));
    expect(snapshots[0][1].seal).toMatch(/^[0-9a-f]{64}$/);
  }, 30_000);
});
