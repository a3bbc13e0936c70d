import { expect, test } from "bun:test";
import * as fc from "fast-check";
import type { Sha256Hex } from "../../../../../base/ids.ts";
import { ARTIFACT_BYTES_MAX, BUNDLE_BYTES_MAX } from "../../../../../base/limits.ts";
import { acquireFiles } from "../../../../../control/forms/worker-bundle/acquire-files.ts";
import type { ManifestFile } from "../../../../../control/forms/worker-bundle/manifest.ts";
import { rejection } from "../../../../support/rejection.ts";

const file = (path: string): ManifestFile => {
  return { path, url: "https://h/", sha256: "" as Sha256Hex, mediaType: "text/plain" };
};

test("WB-34: whatever the sizes and the order of answers, no read is allowed to pass the aggregate limit", async () => {
  const size = fc.oneof(fc.nat({ max: ARTIFACT_BYTES_MAX }), fc.constant(ARTIFACT_BYTES_MAX), fc.constant(0));
  await fc.assert(
    fc.asyncProperty(fc.array(size, { minLength: 1, maxLength: 24 }), fc.scheduler(), async (sizes, scheduler) => {
      let openBytes = 0;
      let readBytes = 0;
      const read = async ({ path }: ManifestFile, bytesMax: number): Promise<number> => {
        const byteSize = sizes[Number(path)] ?? 0;
        openBytes += bytesMax;
        expect(readBytes + openBytes).toBeLessThanOrEqual(BUNDLE_BYTES_MAX);
        await scheduler.schedule(Promise.resolve());
        openBytes -= bytesMax;
        if (byteSize > bytesMax) throw new Error("limit");
        readBytes += byteSize;
        return byteSize;
      };
      const acquired = acquireFiles(
        sizes.map((_, i) => file(String(i))),
        read,
        () => true,
      );
      const result = scheduler.waitFor(acquired).then(
        (found) => found,
        (error: Error) => error.message,
      );
      const total = sizes.reduce((sum, it) => sum + it, 0);
      expect(await result).toEqual(total <= BUNDLE_BYTES_MAX ? sizes : "limit");
    }),
  );
});

test("no new read starts after a failure, and the ones in flight end first", async () => {
  const started: string[] = [];
  const ended: string[] = [];
  const read = async ({ path }: ManifestFile): Promise<number> => {
    started.push(path);
    await new Promise<void>((resolve) => setImmediate(resolve));
    ended.push(path);
    if (path === "0") throw new Error("first");
    return 1;
  };
  const files = Array.from({ length: 20 }, (_, i) => file(String(i)));
  expect((await rejection(acquireFiles(files, read, () => false))).message).toBe("first");
  expect(started).toHaveLength(4);
  expect(ended).toHaveLength(4);
});
