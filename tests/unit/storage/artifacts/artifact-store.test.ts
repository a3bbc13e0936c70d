import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { appendFileSync, existsSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ResourceUid, Sha256Hex, SpaceName } from "../../../../base/ids.ts";
import { SteppedClock } from "../../../../base/stepped-clock.ts";
import { ArtifactStore, type ArtifactStoreOptions } from "../../../../storage/artifacts/artifact-store.ts";
import { rejection, rejectionCode } from "../../../support/rejection.ts";
import { temporaryDirectory } from "../../../support/temporary-directory.ts";

const SPACE_A = "a" as SpaceName;
const SPACE_B = "b" as SpaceName;
const ONE = "bundle-1" as ResourceUid;
const TWO = "bundle-2" as ResourceUid;
const DAY_MS = 24 * 60 * 60_000;
const bytesMax = 1 << 20;

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const digestOf = (bytes: Uint8Array): Sha256Hex => createHash("sha256").update(bytes).digest("hex") as Sha256Hex;

async function* chunks(bytes: Uint8Array, size = 7): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

function fixture(options: Partial<ArtifactStoreOptions> = {}) {
  const dir = temporaryDirectory();
  const clock = new SteppedClock();
  return {
    dir: dir.path,
    clock,
    open: () => ArtifactStore.open(dir.path, { clock, ...options }),
    pathOf: (sha256: Sha256Hex) => join(dir.path, "sha256", sha256.slice(0, 2), sha256),
    [Symbol.dispose]: () => dir[Symbol.dispose](),
  };
}

test("WB-43 WB-46: a put is held with exactly its bytes, also after a restart", async () => {
  using f = fixture();
  const bytes = bytesOf("export default {};");
  const sha256 = digestOf(bytes);
  const store = await f.open();
  expect(await store.put(sha256, chunks(bytes), { bytesMax })).toEqual({ created: true, byteSize: bytes.length });
  expect(await store.read(sha256)).toEqual(bytes);
  store.close();
  const again = await f.open();
  expect(await again.read(sha256)).toEqual(bytes);
  expect(again.byteSize(sha256)).toBe(bytes.length);
  again.close();
});

test("WB-24: an empty file is legal content", async () => {
  using f = fixture();
  const store = await f.open();
  const sha256 = digestOf(new Uint8Array());
  expect(await store.put(sha256, chunks(new Uint8Array()), { bytesMax: 0 })).toEqual({ created: true, byteSize: 0 });
  expect(await store.read(sha256)).toEqual(new Uint8Array());
});

test("WB-36: content with another digest is refused and leaves nothing", async () => {
  using f = fixture();
  const store = await f.open();
  const sha256 = digestOf(bytesOf("wanted"));
  const put = store.put(sha256, chunks(bytesOf("other")), { bytesMax, spaces: [SPACE_A] });
  expect(await rejectionCode(put)).toBe("artifact_digest_mismatch");
  expect(store.byteSize(sha256)).toBeNull();
  expect(store.mayUse(sha256, SPACE_A)).toBe(false);
  expect(readdirSync(join(f.dir, "incoming"))).toEqual([]);
  expect(existsSync(f.pathOf(sha256))).toBe(false);
});

test("WB-34: a source is cancelled before more than the bound is taken in", async () => {
  using f = fixture();
  const store = await f.open();
  let pulled = 0;
  let cancelled = false;
  const endless = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        pulled += 100;
        controller.enqueue(new Uint8Array(100));
      },
      cancel: () => {
        cancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  expect(await rejectionCode(store.put(digestOf(new Uint8Array(1000)), endless, { bytesMax: 1000 }))).toBe(
    "artifact_limit_exceeded",
  );
  expect(pulled).toBe(1100);
  expect(cancelled).toBe(true);
  expect(readdirSync(join(f.dir, "incoming"))).toEqual([]);
});

test("content of exactly the bound is taken", async () => {
  using f = fixture();
  const store = await f.open();
  const bytes = new Uint8Array(1000);
  expect((await store.put(digestOf(bytes), chunks(bytes, 100), { bytesMax: 1000 })).byteSize).toBe(1000);
});

test("an error of the source reaches the caller as it is, and leaves nothing", async () => {
  using f = fixture();
  const store = await f.open();
  const gone = new Error("the client went away");
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield bytesOf("half");
    throw gone;
  }
  expect(await rejection(store.put(digestOf(bytesOf("half")), broken(), { bytesMax }))).toBe(gone);
  expect(readdirSync(join(f.dir, "incoming"))).toEqual([]);
});

test("WB-47: concurrent puts of one digest make it once, and all succeed", async () => {
  using f = fixture();
  const store = await f.open();
  const bytes = new Uint8Array(50_000).fill(3);
  const sha256 = digestOf(bytes);
  const results = await Promise.all(
    [1000, 999, 50_000, 1, 700].map((size) => store.put(sha256, chunks(bytes, Math.max(size, 500)), { bytesMax })),
  );
  expect(results.filter((result) => result.created)).toHaveLength(1);
  expect(await store.read(sha256)).toEqual(bytes);
  expect(readdirSync(join(f.dir, "incoming"))).toEqual([]);
});

test("WB-47: a put of held content leaves the file untouched and adds its grant", async () => {
  using f = fixture();
  const store = await f.open();
  const bytes = bytesOf("same");
  const sha256 = digestOf(bytes);
  await store.put(sha256, chunks(bytes), { bytesMax, spaces: [SPACE_A] });
  const inode = statSync(f.pathOf(sha256)).ino;
  expect(await store.put(sha256, chunks(bytes), { bytesMax, spaces: [SPACE_B] })).toEqual({
    created: false,
    byteSize: 4,
  });
  expect(statSync(f.pathOf(sha256)).ino).toBe(inode);
  expect(store.mayUse(sha256, SPACE_A)).toBe(true);
  expect(store.mayUse(sha256, SPACE_B)).toBe(true);
});

test("WB-57: knowing a digest grants nothing; only the bytes do", async () => {
  using f = fixture();
  const store = await f.open();
  const bytes = bytesOf("private to a");
  const sha256 = digestOf(bytes);
  await store.put(sha256, chunks(bytes), { bytesMax, spaces: [SPACE_A] });
  await rejection(store.put(sha256, chunks(bytesOf("guess")), { bytesMax, spaces: [SPACE_B] }));
  expect(store.mayUse(sha256, SPACE_B)).toBe(false);
  expect(await store.pinHeld(sha256, { owner: TWO, space: SPACE_B }, bytesMax)).toBeNull();
  expect(await store.holds(sha256, TWO)).toBe(false);
  expect(await store.pinHeld(sha256, { owner: ONE, space: SPACE_A }, bytesMax)).toBe(bytes.length);
  expect(await store.holds(sha256, ONE)).toBe(true);
});

test("held content larger than the bound is not pinned", async () => {
  using f = fixture();
  const store = await f.open();
  const bytes = bytesOf("12345");
  await store.put(digestOf(bytes), chunks(bytes), { bytesMax, spaces: [SPACE_A] });
  const pin = store.pinHeld(digestOf(bytes), { owner: ONE, space: SPACE_A }, 4);
  expect(await rejectionCode(pin)).toBe("artifact_limit_exceeded");
  expect(await store.holds(digestOf(bytes), ONE)).toBe(false);
});

test("WB-47: damage on the disk is never handed out, and providing the bytes again heals every owner", async () => {
  using f = fixture({ cacheBytesMax: 0 });
  const store = await f.open();
  const bytes = bytesOf("the true bytes");
  const sha256 = digestOf(bytes);
  await store.put(sha256, chunks(bytes), { bytesMax, pin: { owner: ONE, space: SPACE_A } });
  writeFileSync(f.pathOf(sha256), "the fake bytes");
  expect(await rejectionCode(store.read(sha256))).toBe("artifact_unreachable");
  expect(await store.holds(sha256, ONE)).toBe(false);
  expect(store.byteSize(sha256)).toBeNull();
  expect((await store.put(sha256, chunks(bytes), { bytesMax })).created).toBe(true);
  expect(await store.read(sha256)).toEqual(bytes);
  expect(await store.holds(sha256, ONE)).toBe(true);
});

test("WB-50: holds reads the disk again, whatever the cache remembers", async () => {
  using f = fixture();
  const store = await f.open();
  const bytes = bytesOf("cached");
  const sha256 = digestOf(bytes);
  await store.put(sha256, chunks(bytes), { bytesMax, pin: { owner: ONE, space: SPACE_A } });
  await store.read(sha256);
  rmSync(f.pathOf(sha256));
  expect(await store.holds(sha256, ONE)).toBe(false);
  expect(await rejectionCode(store.read(sha256))).toBe("artifact_unreachable");
});

test("a reader may change what it got without changing what the next one gets", async () => {
  using f = fixture();
  const store = await f.open();
  const bytes = bytesOf("pristine");
  await store.put(digestOf(bytes), chunks(bytes), { bytesMax });
  for (let i = 0; i < 3; i++) (await store.read(digestOf(bytes))).fill(0);
  expect(await store.read(digestOf(bytes))).toEqual(bytes);
});

test("content that was never put is unreachable", async () => {
  using f = fixture();
  const store = await f.open();
  expect(await rejectionCode(store.read(digestOf(bytesOf("nothing"))))).toBe("artifact_unreachable");
});

test("WB-52 WB-58: what another owner pins stays; what nobody pins goes after the grace period", async () => {
  using f = fixture({ graceMs: 1000 });
  const store = await f.open();
  const shared = bytesOf("shared");
  const own = bytesOf("own");
  await store.put(digestOf(shared), chunks(shared), { bytesMax, pin: { owner: ONE, space: SPACE_A } });
  await store.put(digestOf(shared), chunks(shared), { bytesMax, pin: { owner: TWO, space: SPACE_A } });
  await store.put(digestOf(own), chunks(own), { bytesMax, pin: { owner: ONE, space: SPACE_A } });
  await f.clock.advance(DAY_MS * 30);
  expect(await store.collect(f.clock.nowMs())).toEqual({ removed: 0, bytes: 0 });
  store.release(ONE);
  expect(await store.collect(f.clock.nowMs() + 999)).toEqual({ removed: 0, bytes: 0 });
  expect(await store.collect(f.clock.nowMs() + 1000)).toEqual({ removed: 1, bytes: 3 });
  expect(existsSync(f.pathOf(digestOf(own)))).toBe(false);
  expect(await rejectionCode(store.read(digestOf(own)))).toBe("artifact_unreachable");
  expect(await store.read(digestOf(shared))).toEqual(shared);
  expect(await store.holds(digestOf(shared), TWO)).toBe(true);
});

test("an upload that nobody pins expires with its grant, counted from the last grant", async () => {
  using f = fixture();
  const store = await f.open();
  const bytes = bytesOf("upload");
  const sha256 = digestOf(bytes);
  await store.put(sha256, chunks(bytes), { bytesMax, spaces: [SPACE_A] });
  await f.clock.advance(5 * DAY_MS);
  await store.put(sha256, chunks(bytes), { bytesMax, spaces: [SPACE_A] });
  await f.clock.advance(6 * DAY_MS);
  expect((await store.collect(f.clock.nowMs())).removed).toBe(0);
  await f.clock.advance(DAY_MS);
  expect((await store.collect(f.clock.nowMs())).removed).toBe(1);
  expect(store.mayUse(sha256, SPACE_A)).toBe(false);
});

test("a grant of pinned content starts to age when the last pin goes", async () => {
  using f = fixture();
  const store = await f.open();
  const bytes = bytesOf("deployed for long");
  const sha256 = digestOf(bytes);
  await store.put(sha256, chunks(bytes), { bytesMax, spaces: [SPACE_A] });
  await store.pinHeld(sha256, { owner: ONE, space: SPACE_A }, bytesMax);
  await f.clock.advance(100 * DAY_MS);
  store.release(ONE);
  await f.clock.advance(6 * DAY_MS);
  expect((await store.collect(f.clock.nowMs())).removed).toBe(0);
  expect(await store.pinHeld(sha256, { owner: TWO, space: SPACE_A }, bytesMax)).toBe(bytes.length);
  store.release(TWO);
  await f.clock.advance(7 * DAY_MS);
  expect((await store.collect(f.clock.nowMs())).removed).toBe(1);
});

test("collect removes files that a crash left without an entry, and drafts go at the next start", async () => {
  using f = fixture();
  const bytes = bytesOf("known");
  const orphan = digestOf(bytesOf("orphan"));
  const first = await f.open();
  await first.put(digestOf(bytes), chunks(bytes), { bytesMax, pin: { owner: ONE, space: SPACE_A } });
  first.close();
  appendFileSync(join(f.dir, "incoming", "draft-of-a-dead-process"), "half");
  await Bun.write(f.pathOf(orphan), "orphan");
  const store = await f.open();
  expect(readdirSync(join(f.dir, "incoming"))).toEqual([]);
  expect(await rejectionCode(store.read(orphan))).toBe("artifact_unreachable");
  await store.collect(f.clock.nowMs());
  expect(existsSync(f.pathOf(orphan))).toBe(false);
  expect(await store.read(digestOf(bytes))).toEqual(bytes);
});

test("the store has a bound, counts what it held before a restart, and has room again after collection", async () => {
  using f = fixture({ storeBytesMax: 10, graceMs: 0 });
  const put = (store: ArtifactStore, text: string, owner: ResourceUid) =>
    store.put(digestOf(bytesOf(text)), chunks(bytesOf(text)), { bytesMax, pin: { owner, space: SPACE_A } });
  const first = await f.open();
  await put(first, "123456", ONE);
  expect(await rejectionCode(put(first, "abcde", TWO))).toBe("artifact_limit_exceeded");
  first.close();
  const store = await f.open();
  expect(await rejectionCode(put(store, "abcde", TWO))).toBe("artifact_limit_exceeded");
  await put(store, "abcd", TWO);
  store.release(ONE);
  await store.collect(f.clock.nowMs());
  await put(store, "ABCDEF", TWO);
});

test("a fault of the disk says nothing about paths and cancels the source", async () => {
  using f = fixture();
  const store = await f.open();
  rmSync(join(f.dir, "incoming"), { recursive: true });
  let cancelled = false;
  const source = new ReadableStream<Uint8Array>({
    cancel: () => {
      cancelled = true;
    },
  });
  const reason = await rejection(store.put(digestOf(bytesOf("x")), source, { bytesMax }));
  expect(reason.code).toBe("temporarily_unavailable");
  expect(reason.message).not.toContain("/");
  expect(cancelled).toBe(true);
});
