// What only a real connection shows: framing, odd hosts, bodies that are refused while they arrive.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { ControlRig } from "../../support/control-rig.ts";
import { KEY_VALUE_ENTRY } from "../../support/publisher/key-value-entry.ts";

const ROOT = "/apis/forms.takoform.com/v2";
const ENTRY = { form: KEY_VALUE_ENTRY, space: "default", name: "a", spec: { key: "k", value: "v" } };

let rig: ControlRig;
let server: ReturnType<typeof Bun.serve>;

beforeAll(() => {
  rig = new ControlRig({ host: { maxRequestBytes: 100_000 } });
  server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: (request) => rig.api.handle(request) });
});

afterAll(async () => {
  await server.stop(true);
});

/** Sends these bytes and returns the answer up to the end of its body. */
async function exchange(head: readonly string[], body = ""): Promise<string> {
  const answered = Promise.withResolvers<string>();
  const decoder = new TextDecoder();
  let text = "";
  const socket = await Bun.connect({
    hostname: "127.0.0.1",
    port: server.port ?? 0,
    socket: {
      data(_socket, chunk) {
        text += decoder.decode(chunk, { stream: true });
        const [start = "", rest] = text.split("\r\n\r\n");
        const length = Number(/content-length: (\d+)/i.exec(start)?.[1]);
        if (rest !== undefined && rest.length >= length) answered.resolve(text);
      },
      close: () => answered.resolve(text),
      error: (_socket, error) => answered.reject(error),
    },
  });
  const bytes = new TextEncoder().encode(`${head.join("\r\n")}\r\n\r\n${body}`);
  let sent = 0;
  while (sent < bytes.length) {
    const written = socket.write(bytes.subarray(sent));
    sent += written;
    if (written === 0) await new Promise((resolve) => setImmediate(resolve));
    if (written < 0) break;
  }
  const answer = await answered.promise;
  socket.end();
  return answer;
}

const post = (host: string, ...more: readonly string[]): readonly string[] => [
  `POST ${ROOT}/resources HTTP/1.1`,
  `Host: ${host}`,
  `Authorization: Bearer ${rig.admin}`,
  `Idempotency-Key: ${rig.key()}`,
  "Content-Type: application/json",
  ...more,
];
const chunked = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`;

describe("over a socket", () => {
  test("HA-41, HA-162: a chunked body beyond the limit is refused, whatever the host is called", async () => {
    for (const host of ["localhost", "h", "127.0.0.1:1"]) {
      const answer = await exchange(post(host, "Transfer-Encoding: chunked"), chunked("x".repeat(300_000)));
      expect(answer).toStartWith("HTTP/1.1 413 ");
    }
  });

  test("HA-41: a declared length beyond the limit is refused before the body comes", async () => {
    expect(await exchange(post("localhost", "Content-Length: 100001"))).toStartWith("HTTP/1.1 413 ");
  });

  test("HA-4: a chunked create with a short host name is accepted like any other", async () => {
    const body = chunked(JSON.stringify({ ...ENTRY, name: "chunked" }));
    const answer = await exchange(post("h", "Transfer-Encoding: chunked"), body);
    expect(answer).toStartWith("HTTP/1.1 202 ");
    expect(answer).toMatch(/\r\nlocation: https:\/\/host\.example\/apis/i);
  });

  test("HA-A9: an empty chunked body of a DELETE is no body, one octet is", async () => {
    await rig.settle();
    const { resourceUid } = await rig.settled(rig.create({ ...ENTRY, name: "b", spec: { key: "k2", value: "v" } }));
    const remove = () => [
      `DELETE ${ROOT}/resources/${resourceUid} HTTP/1.1`,
      "Host: localhost",
      `Authorization: Bearer ${rig.admin}`,
      `Idempotency-Key: ${rig.key()}`,
      "Takoform-Expected-Generation: 1",
      "Transfer-Encoding: chunked",
    ];
    expect(await exchange(remove(), chunked("x"))).toStartWith("HTTP/1.1 400 ");
    expect(await exchange(remove(), "0\r\n\r\n")).toStartWith("HTTP/1.1 202 ");
  });

  test("HA-29, HA-33: a header that is sent twice is malformed, not the first or the last of the two", async () => {
    const twice = `Idempotency-Key: ${rig.key()}`;
    expect(await exchange(post("localhost", twice, "Content-Length: 2"), "{}")).toStartWith("HTTP/1.1 400 ");
    const token = `Authorization: Bearer ${rig.admin}`;
    const get = [`GET ${ROOT}/resources HTTP/1.1`, "Host: localhost", token, token];
    expect(await exchange(get)).toStartWith("HTTP/1.1 401 ");
  });

  test("HA-15: a request without a host is served", async () => {
    const get = [`GET ${ROOT}/resources HTTP/1.0`, `Authorization: Bearer ${rig.admin}`];
    expect(await exchange(get)).toStartWith("HTTP/1.1 200 ");
  });
});
