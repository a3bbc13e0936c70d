import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { Frame } from "../../../../base/channel.ts";
import { encodeFrame, FrameDecoder, FrameFault, FROM_CELL } from "../../../../sandbox/wire/frame-codec.ts";

const frame: fc.Arbitrary<Frame> = fc.record({
  text: fc.string({ unit: "binary", maxLength: 40 }).map((text) => text.toWellFormed()),
  blocks: fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 4 }),
});

const bytesOf = (frames: readonly Frame[]): Uint8Array => Buffer.concat(frames.flatMap((one) => encodeFrame(one)));

describe("frames as bytes", () => {
  test("any frames, cut into any pieces, arrive as they were", () => {
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 5 }), fc.array(fc.integer({ min: 1, max: 30 })), (frames, cuts) => {
        const decoder = new FrameDecoder(FROM_CELL);
        const bytes = bytesOf(frames);
        const found: Frame[] = [];
        let at = 0;
        for (const cut of [...cuts, bytes.byteLength]) {
          found.push(...decoder.push(bytes.slice(at, at + cut)));
          at += cut;
        }
        expect(found.map(({ text }) => text)).toEqual(frames.map(({ text }) => text));
        expect(found.map(({ blocks }) => blocks.map((block) => [...block]))).toEqual(
          frames.map(({ blocks }) => blocks.map((block) => [...block])),
        );
      }),
    );
  });

  test("nothing is given out before all of a frame is there", () => {
    fc.assert(
      fc.property(frame, (one) => {
        const bytes = bytesOf([one]);
        const decoder = new FrameDecoder(FROM_CELL);
        expect(decoder.push(bytes.slice(0, -1))).toEqual([]);
        expect(decoder.push(bytes.slice(-1)).length).toBe(1);
      }),
    );
  });

  test("a block owns its memory", () => {
    const bytes = bytesOf([{ text: "x", blocks: [new Uint8Array([1, 2]), new Uint8Array([3])] }]);
    const [found] = new FrameDecoder(FROM_CELL).push(bytes);
    expect(found?.blocks.map(({ buffer }) => buffer.byteLength)).toEqual([2, 1]);
    bytes.fill(0);
    expect(found?.blocks.map((block) => [...block])).toEqual([[1, 2], [3]]);
  });

  test("random bytes never make it take more than its bounds", () => {
    const bounds = { frameBytesMax: 1_000, blocksMax: 3 };
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 8, maxLength: 200 }), (bytes) => {
        try {
          for (const { text, blocks } of new FrameDecoder(bounds).push(bytes)) {
            expect(blocks.length).toBeLessThanOrEqual(3);
            expect(text.length).toBeLessThanOrEqual(1_000);
          }
        } catch (error) {
          expect(error).toBeInstanceOf(FrameFault);
        }
      }),
    );
  });

  test("what exceeds a bound is refused by its header alone", () => {
    const header = (...numbers: number[]): Uint8Array => new Uint8Array(new Uint32Array(numbers).buffer);
    const decoder = (): FrameDecoder => new FrameDecoder({ frameBytesMax: 1_000, blocksMax: 3 });
    expect(() => decoder().push(header(1_001, 0))).toThrow(FrameFault);
    expect(() => decoder().push(header(0, 4))).toThrow(FrameFault);
    expect(() => decoder().push(header(500, 1, 501))).toThrow(FrameFault);
    expect(() => decoder().push(header(0xffffffff, 3, 0xffffffff, 0xffffffff, 0xffffffff))).toThrow(FrameFault);
    expect(decoder().push(header(500, 1, 500))).toEqual([]);
  });
});
