import { expect, test } from "bun:test";
import { StoreCache } from "../../../../storage/actor/store-cache.ts";
import { rejection } from "../../../support/rejection.ts";

function cacheOf(idleMax: number) {
  const log: string[] = [];
  const open = new Set<string>();
  const closing: (() => void)[] = [];
  const cache = new StoreCache(
    async (key: string) => {
      if (key === "bad") throw new Error("cannot open");
      expect(open.has(key)).toBe(false);
      open.add(key);
      log.push(`+${key}`);
      return {
        key,
        close: () =>
          new Promise<void>((resolve) => {
            closing.push(() => {
              open.delete(key);
              log.push(`-${key}`);
              resolve();
            });
          }),
      };
    },
    { idleMax },
  );
  return { cache, log, open, finishClosing: () => closing.splice(0).forEach((finish) => finish()) };
}

test("the store unused for longest goes first, and a used one never", async () => {
  const { cache, log, finishClosing } = cacheOf(2);
  for (const key of ["a", "b", "c", "d"]) await cache.take(key);
  for (const key of ["a", "b"]) cache.give(key);
  await cache.take("a");
  cache.give("a");
  cache.give("c");
  finishClosing();
  expect(log).toEqual(["+a", "+b", "+c", "+d", "-b"]);
  await cache.take("c");
  expect(cache.size).toBe(3);
});

test("a store is opened again only after it has closed completely", async () => {
  const { cache, log, finishClosing } = cacheOf(0);
  await cache.take("a");
  cache.give("a");
  const again = cache.take("a");
  for (let i = 0; i < 3; i++) await Promise.resolve();
  expect(log).toEqual(["+a"]);
  finishClosing();
  expect((await again).key).toBe("a");
  expect(log).toEqual(["+a", "-a", "+a"]);
});

test("a store has one user at a time, and one that could not be opened leaves nothing behind", async () => {
  const { cache } = cacheOf(1);
  await cache.take("a");
  expect((await rejection(cache.take("a"))).message).toContain("one user");
  expect(() => cache.give("b")).toThrow("in use");
  expect((await rejection(cache.take("bad"))).message).toBe("cannot open");
  expect(cache.size).toBe(1);
});

test("a discarded store is closed, and everything idle goes on request", async () => {
  const { cache, open, finishClosing } = cacheOf(10);
  for (const key of ["a", "b", "c"]) await cache.take(key);
  cache.give("a", "discard");
  cache.give("b");
  const all = cache.evictAll();
  finishClosing();
  await all;
  expect([...open]).toEqual(["c"]);
});
