// Bodies that fit into one message: given whole when they are there, as a stream when they are late or never come.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Deployed, eventually, TestNode } from "../support/node-rig.ts";
import { RawConnection } from "../support/raw-http.ts";

const WORKER = `
  const state = { started: 0, broke: 0 };
  export default {
    async fetch(request) {
      switch (new URL(request.url).pathname) {
        case "/state": return Response.json(state);
        case "/ignore": return new Response("ignored " + (request.body === null));
        case "/echo": {
          state.started += 1;
          try { return new Response(await request.text()); }
          catch (error) { state.broke += 1; throw error; }
        }
      }
    },
  };`;

let node: TestNode;
let worker: Deployed;
beforeAll(async () => {
  node = await TestNode.start();
  worker = await node.deploy(WORKER);
});
afterAll(async () => node[Symbol.asyncDispose]());

const state = (): Promise<{ started: number; broke: number }> => node.json(worker, "/state");
const head = (path: string, bytes: number, method = "POST"): string =>
  `${method} ${path} HTTP/1.1\r\nHost: ${worker.hostname}\r\nConnection: close\r\nContent-Length: ${bytes}\r\n\r\n`;
const post = (path: string, body: string): Promise<Response> => node.fetch(worker, path, { method: "POST", body });

describe("small bodies", () => {
  test("MW-47: bytes come through unchanged at the sizes where the way changes", async () => {
    for (const bytes of [0, 1, 16 * 1024 - 1, 16 * 1024, 16 * 1024 + 1]) {
      const text = "x".repeat(bytes);
      const answer = await post("/echo", text);
      expect(await answer.text()).toBe(text);
    }
  });

  test("MW-47: a handler runs before a small body is there, and gets it when it comes", async () => {
    const { started } = await state();
    using connection = await RawConnection.open(node.ready.http);
    connection.send(`${head("/echo", 8)}late`);
    await eventually(async () => (await state()).started === started + 1, "the handler never runs");
    connection.send(" but");
    expect(await connection.untilClosed()).toEndWith("\r\n\r\nlate but");
  });

  test("MW-47: a small body that never comes whole breaks off for its reader", async () => {
    const { started, broke } = await state();
    const connection = await RawConnection.open(node.ready.http);
    connection.send(`${head("/echo", 8)}half`);
    await eventually(async () => (await state()).started === started + 1, "the handler never runs");
    connection[Symbol.dispose]();
    await eventually(async () => (await state()).broke === broke + 1, "the handler is never told");
  });

  test("MW-47: a handler need not read a body", async () => {
    expect(await (await post("/ignore", "unread")).text()).toBe("ignored false");
    const answer = await RawConnection.once(node.ready.http, head("/ignore", 0));
    expect(answer).toEndWith("ignored true");
  });

  test("MW-47: a GET that declares a body is answered like any other", async () => {
    const answer = await RawConnection.once(node.ready.http, `${head("/ignore", 4, "GET")}body`);
    expect(answer).toStartWith("HTTP/1.1 200");
  });
});
