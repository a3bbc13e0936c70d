import { describe, expect, test } from "bun:test";
import { ServiceChains } from "../../../../runtime/workers/service-chains.ts";

const cell = {};
const running = (id: number) => {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  return { id, ended, end };
};

describe("ServiceChains", () => {
  test("16 calls deep is allowed, 17 is a loop; another event begins anew", () => {
    const chains = new ServiceChains();
    chains.begin(cell, running(1), null);
    for (let id = 1; id <= 16; id++) chains.begin(cell, running(id + 1), chains.next(cell, id));
    expect(() => chains.next(cell, 17)).toThrow("more than 16 deep");
    chains.begin(cell, running(100), null);
    expect(chains.next(cell, 100).depth).toBe(1);
  });

  test("everything that one event leads to shares one budget, wherever it is spent", () => {
    const chains = new ServiceChains();
    const other = {};
    chains.begin(cell, running(1), null);
    chains.begin(other, running(1), chains.next(cell, 1));
    for (let spent = 1; spent < 1_000; spent++) chains.next(spent % 2 === 0 ? cell : other, 1);
    expect(() => chains.next(cell, 1)).toThrow("more than 1000 calls");
    expect(() => chains.next(other, 1)).toThrow("more than 1000 calls");
  });

  test("an invocation that has ended calls nobody, and leaves nothing behind", async () => {
    const chains = new ServiceChains();
    const first = running(1);
    chains.begin(cell, first, null);
    first.end();
    await first.ended;
    expect(() => chains.next(cell, 1)).toThrow("has ended");
    expect(() => chains.next({}, 1)).toThrow("has ended");
  });
});
