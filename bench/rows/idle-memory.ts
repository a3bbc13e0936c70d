import { setTimeout as sleep } from "node:timers/promises";
import { type Peer, workerFile } from "../peer.ts";
import type { Row, Settings, Subject } from "../row.ts";

const HELLO = workerFile("hello");
const SETTLE_MS = 2_000;
const MIB = 2 ** 20;
const GIVES = "one Worker, which has answered once";

export const idleMemoryRow: Row = {
  name: "idle-memory",
  title: "memory of a process with one Worker that has answered one request",
  metrics: [
    { name: "resident", unit: "MiB", better: "less" },
    { name: "anonymous", unit: "MiB", better: "less" },
  ],
  gives: { atoll: GIVES, binary: GIVES, before: GIVES, workerd: GIVES },
  open,
};

async function open(peer: Peer, { scratch }: Settings): Promise<Subject> {
  const prepared = await peer.prepare([HELLO], scratch);
  return {
    sample: async () => {
      const running = await prepared.start();
      try {
        const { origin, host } = running.address(HELLO.name);
        await (await fetch(origin, { headers: { host } })).bytes();
        await sleep(SETTLE_MS);
        const { residentBytes, anonymousBytes } = running.memory();
        return { resident: residentBytes / MIB, anonymous: anonymousBytes / MIB };
      } finally {
        await running.stop();
      }
    },
    close: async () => {},
  };
}
