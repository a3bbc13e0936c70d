// Content codings of responses: gzip, deflate, br and zstd, decoded while they stream.
import type { Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw, createZstdDecompress } from "node:zlib";
import { AtollError } from "../../base/errors.ts";
import { valuesOf, without } from "./http-headers.ts";

/** What a request offers when it does not say anything itself. */
export const ACCEPT_ENCODING = "gzip, deflate, br, zstd";

type Decoder = (firstByte: number) => Transform;

const DECODERS: Readonly<Record<string, Decoder>> = {
  gzip: () => createGunzip(),
  "x-gzip": () => createGunzip(),
  // Some servers send the bare stream where the zlib format is meant; its first byte tells (RFC 1950, 2.2).
  deflate: (firstByte) => ((firstByte & 0x0f) === 8 ? createInflate() : createInflateRaw()),
  br: () => createBrotliDecompress(),
  zstd: () => createZstdDecompress(),
};

/** Nobody needs more, and each one costs memory. */
const CODINGS_MAX = 4;
const OF_THE_CODED_BODY = new Set(["content-encoding", "content-length"]);

interface Coded {
  readonly headers: [string, string][];
  readonly body: ReadableStream<Uint8Array> | null;
}

/**
 * The response with its content decoded, and without the fields that described the coded bytes: whoever passes the
 * response on would lie with them. Unchanged when a coding is not known. Nothing is read before somebody reads. Throws
 * `backend_unavailable` for more codings than anybody uses.
 */
export function decoded({ headers, body }: Coded): Coded {
  const codings = valuesOf(headers, "content-encoding")
    .flatMap((value) => value.split(","))
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== "" && coding !== "identity");
  const decoders = codings.map((coding) => (Object.hasOwn(DECODERS, coding) ? DECODERS[coding] : undefined));
  if (body === null || codings.length === 0 || !decoders.every((decoder) => decoder !== undefined)) {
    return { headers, body };
  }
  if (codings.length > CODINGS_MAX) {
    throw new AtollError("backend_unavailable", "The response has too many content codings.");
  }
  // The last coding listed was the last one applied.
  const plain = decoders.reduceRight<ReadableStream<Uint8Array>>((coded, decoder) => decode(coded, decoder), body);
  return { headers: without(headers, OF_THE_CODED_BODY), body: plain };
}

function decode(coded: ReadableStream<Uint8Array>, decoder: Decoder): ReadableStream<Uint8Array> {
  const reader = coded.getReader();
  let plain: Transform | null = null;
  let chunks: AsyncIterator<Uint8Array> | null = null;
  /** Why the source failed: what the reader is told instead of the decoder's complaint that it got too little. */
  let failure: { readonly reason: unknown } | null = null;

  const start = async (): Promise<AsyncIterator<Uint8Array> | null> => {
    for (;;) {
      const first = await reader.read();
      if (first.done) return null; // no bytes at all are an empty body in any coding
      if (first.value.byteLength === 0) continue;
      plain = decoder(first.value[0] ?? 0);
      feed(plain, () => reader.read(), first.value).catch((reason: unknown) => {
        failure ??= { reason };
        plain?.destroy();
      });
      return plain[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
    }
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        chunks ??= await start();
        if (chunks === null) return controller.close();
        try {
          const next = await chunks.next();
          if (next.done === true) controller.close();
          else controller.enqueue(new Uint8Array(next.value.buffer, next.value.byteOffset, next.value.byteLength));
        } catch (cause) {
          reader.cancel().catch(() => {});
          if (failure !== null) throw failure.reason;
          throw new AtollError("backend_unavailable", "The response's content coding is damaged.", { cause });
        }
      },
      async cancel(reason) {
        plain?.destroy();
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/** Hand everything to the decoder, as fast as it takes it. */
async function feed(
  plain: Transform,
  read: () => Promise<{ done: boolean; value?: Uint8Array | undefined }>,
  first: Uint8Array,
): Promise<void> {
  for (let chunk = first; ; ) {
    if (plain.destroyed || plain.writableEnded) return;
    if (!plain.write(chunk)) await takenOrClosed(plain);
    const next = await read();
    if (next.value === undefined) break;
    chunk = next.value;
  }
  plain.end();
}

function takenOrClosed(plain: Transform): Promise<void> {
  return new Promise((resolve) => {
    const settle = (): void => {
      plain.off("drain", settle);
      plain.off("close", settle);
      resolve();
    };
    plain.once("drain", settle);
    plain.once("close", settle);
  });
}
