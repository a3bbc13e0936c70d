// Run it with `bun test examples/hello/worker.test.ts`.
import { expect, test } from "bun:test";
import { startAtoll } from "@atoll/testing";

test("greets whoever asks", async () => {
  await using atoll = await startAtoll({ clock: "virtual" });
  const hello = await atoll.deploy({ entry: new URL("worker.ts", import.meta.url) });
  const answer = await hello.fetch("/?name=Ada");
  expect(await answer.text()).toStartWith("Hello, Ada!");
});
