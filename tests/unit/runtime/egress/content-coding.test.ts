import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { decoded } from "../../../../runtime/egress/content-coding.ts";
import { rejection, rejectionCode } from "../../../support/rejection.ts";

type Encode = (bytes: Uint8Array) => Uint8Array;
const CODINGS: [string, Encode][] = [
  ["gzip", (bytes) => gzipSync(bytes)],
  ["x-gzip", (bytes) => gzipSync(bytes)],
  ["deflate", (bytes) => deflateSync(bytes)],
  ["deflate", (bytes) => deflateRawSync(bytes)],
  ["br", (bytes) => brotliCompressSync(bytes)],
  ["zstd", (bytes) => zstdCompressSync(bytes)],
];

function streamOf(bytes: Uint8Array, size = 10): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(at, at + size));
      at += size;
    },
  });
}

async function bytesOf(body: ReadableStream<Uint8Array> | null): Promise<Uint8Array> {
  return new Uint8Array(await new Response(body).arrayBuffer());
}

const response = (coding: string, body: ReadableStream<Uint8Array> | null) => ({
  headers: [
    ["content-encoding", coding],
    ["content-length", "99"],
    ["etag", "x"],
  ] as [string, string][],
  body,
});

test("every coding, and any chain of them, comes out as it went in", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ minLength: 1, maxLength: 5000 }),
      fc.array(fc.constantFrom(...CODINGS), { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 1, max: 300 }),
      async (bytes, chain, size) => {
        const coded = chain.reduce<Uint8Array>((sum, [, encode]) => encode(sum), bytes);
        const names = chain.map(([name]) => name.toUpperCase()).join(" , ");
        const plain = decoded(response(names, streamOf(coded, size)));
        expect(plain.headers).toEqual([["etag", "x"]]);
        expect(await bytesOf(plain.body)).toEqual(new Uint8Array(bytes));
      },
    ),
    { numRuns: 60 },
  );
});

test("no body, no coding, an unknown one and identity leave the response as it is", async () => {
  const none = response("gzip", null);
  expect(decoded(none)).toEqual(none);
  for (const coding of ["identity", "", "gzip, rot13", "constructor"]) {
    const as = response(coding, streamOf(new TextEncoder().encode("as it is")));
    const plain = decoded(as);
    expect(plain.headers).toEqual(as.headers);
    expect(new TextDecoder().decode(await bytesOf(plain.body))).toBe("as it is");
  }
});

test.each(CODINGS)("%s: no bytes are an empty body; damaged and cut off ones are an error", async (coding, encode) => {
  expect(await bytesOf(decoded(response(coding, streamOf(new Uint8Array()))).body)).toEqual(new Uint8Array());
  const coded = encode(new Uint8Array(2000).map((_, i) => i * 7));
  const cut = decoded(response(coding, streamOf(coded.subarray(0, coded.length - 3))));
  // The platform's zstd takes what there is; only the framing of HTTP shows that such a body was cut off.
  if (coding !== "zstd") expect(await rejectionCode(bytesOf(cut.body))).toBe("backend_unavailable");
  const junk = decoded(response(coding, streamOf(new Uint8Array(100).fill(0xfe))));
  expect(await rejectionCode(bytesOf(junk.body))).toBe("backend_unavailable");
});

test("more codings than anybody uses are refused", () => {
  expect(() => decoded(response("gzip,gzip,gzip,gzip,gzip", streamOf(new Uint8Array(1))))).toThrow("codings");
});

test("the error of the source is what the reader gets", async () => {
  const broken = new Error("connection lost");
  const coded = gzipSync(new Uint8Array(10_000).map((_, i) => (i * i) % 251));
  let first = true;
  const source = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (first) controller.enqueue(coded.subarray(0, 20));
      else controller.error(broken);
      first = false;
    },
  });
  expect(await rejection(bytesOf(decoded(response("gzip", source)).body))).toBe(broken);
});

test("a bomb is decoded only as far as somebody reads, and cancelling reaches the source", async () => {
  const member = gzipSync(new Uint8Array(64 * 2 ** 20));
  const coded = Buffer.concat(Array.from({ length: 8 }, () => member)); // half a GiB
  let pulled = 0;
  let cancelled = false;
  const source = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (pulled >= coded.length) return controller.close();
        controller.enqueue(coded.subarray(pulled, pulled + 4096));
        pulled += 4096;
      },
      cancel: () => {
        cancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  const { body } = decoded(response("gzip", source));
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  expect((await reader.read()).value?.length).toBeGreaterThan(0);
  await Bun.sleep(20); // time in which a decoder without backpressure would run through all of it
  expect(pulled).toBeLessThan(coded.length / 2);
  await reader.cancel();
  expect(cancelled).toBe(true);
});

test("what has arrived can be read before the rest comes", async () => {
  const coded = gzipSync(new TextEncoder().encode("event: now\n\n"));
  const source = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(coded.subarray(0, coded.length - 8)),
  });
  const { body } = decoded(response("gzip", source));
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  expect(new TextDecoder().decode((await reader.read()).value)).toBe("event: now\n\n");
  await reader.cancel();
});
