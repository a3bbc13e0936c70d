import { expect, test } from "bun:test";
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { SteppedClock } from "../../../../base/stepped-clock.ts";
import { type Address, parseAddress } from "../../../../runtime/egress/address.ts";
import { dial } from "../../../../runtime/egress/dial.ts";
import { rejection } from "../../../support/rejection.ts";

/** A connection that does what the test says. */
class FakeSocket extends EventEmitter {
  destroyed = false;
  destroy(): void {
    this.destroyed = true;
  }
}

function fixture(...addresses: string[]) {
  const clock = new SteppedClock();
  const abort = new AbortController();
  const begun = new Map<string, FakeSocket>();
  const begin = ({ host }: { readonly host: string }): Socket => {
    const socket = new FakeSocket();
    begun.set(host, socket);
    return socket as unknown as Socket;
  };
  const list = addresses.map(parseAddress) as Address[];
  const dialled = dial(list, 443, clock, abort.signal, begin);
  dialled.catch(() => {});
  return { clock, abort, begun, dialled, tried: () => [...begun.keys()] };
}

test("D1: addresses are tried in order, the next one when one has not answered for a moment", async () => {
  const f = fixture("10.0.0.1", "10.0.0.2", "10.0.0.3");
  expect(f.tried()).toEqual(["10.0.0.1"]);
  await f.clock.advance(249);
  expect(f.tried()).toEqual(["10.0.0.1"]);
  await f.clock.advance(1);
  expect(f.tried()).toEqual(["10.0.0.1", "10.0.0.2"]);
  await f.clock.advance(250);
  expect(f.tried()).toEqual(["10.0.0.1", "10.0.0.2", "10.0.0.3"]);
  await f.clock.advance(10_000);
  expect(f.tried()).toHaveLength(3);
});

test("D2: the first that answers wins, and every other attempt is closed", async () => {
  const f = fixture("10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4");
  await f.clock.advance(500);
  const [first, second, third] = [...f.begun.values()];
  second?.emit("connect");
  third?.emit("connect");
  expect(await f.dialled).toBe(second as unknown as Socket);
  expect([first?.destroyed, second?.destroyed, third?.destroyed]).toEqual([true, false, true]);
  await f.clock.advance(10_000);
  expect(f.tried()).toHaveLength(3);
});

test("a refused connection starts the next one at once, and the last refusal is the error", async () => {
  const f = fixture("10.0.0.1", "::1");
  f.begun.get("10.0.0.1")?.emit("error", new Error("one"));
  expect(f.tried()).toEqual(["10.0.0.1", "::1"]);
  f.begun.get("::1")?.emit("error", new Error("two"));
  expect((await rejection(f.dialled)).message).toBe("two");
});

test("an attempt that is refused late does not fail one that is still under way", async () => {
  const f = fixture("10.0.0.1", "10.0.0.2");
  await f.clock.advance(250);
  f.begun.get("10.0.0.2")?.emit("error", new Error("refused"));
  f.begun.get("10.0.0.1")?.emit("connect");
  expect(await f.dialled).toBe(f.begun.get("10.0.0.1") as unknown as Socket);
});

test("an abort closes every attempt, starts no other and gives its reason", async () => {
  const f = fixture("10.0.0.1", "10.0.0.2", "10.0.0.3");
  await f.clock.advance(250);
  const reason = new Error("gone");
  f.abort.abort(reason);
  expect(await rejection(f.dialled)).toBe(reason);
  expect([...f.begun.values()].map((socket) => socket.destroyed)).toEqual([true, true]);
  await f.clock.advance(10_000);
  expect(f.tried()).toHaveLength(2);
});
