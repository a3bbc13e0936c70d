// A process that owns a shard's log and actors, for the fault tests. Its cell counts; every durable count is told on
// stdout before anything else happens. The cell is ended and started again all the time.
import { writeSync } from "node:fs";
import type { CommitSink } from "../../storage/actor/commit-sink.ts";
import type { Opening } from "../../storage/actor/shard-actors.ts";
import { ActorRig, actor } from "../unit/storage/actor/actor-rig.ts";
import type { FromCell, ToCell } from "./actor-cell-thread.ts";

const [directory = "", epoch = "1", durability = "strict"] = process.argv.slice(2);
const rig = await ActorRig.open(directory, Number(epoch), {
  durability: durability === "relaxed" ? "relaxed" : "strict",
  segmentBytes: 512 << 10,
});

for (let cell = 0; ; cell++) await runCell(80 + ((cell * 37) % 60));

/** Serve four actors in a new thread and end it after so many counts, in the middle of whatever it is doing. */
async function runCell(countsMax: number): Promise<void> {
  const thread = new Worker(new URL("./actor-cell-thread.ts", import.meta.url).href);
  const ended = new Promise<void>((resolve) => thread.addEventListener("close", () => resolve()));
  const openings = new Map<string, Opening>();
  const restarts: Promise<void>[] = [];
  let counts = 0;
  let over = false;
  const serve = async (id: string): Promise<void> => {
    if (over) return;
    const opening = await rig.actors.open(actor(id));
    openings.set(id, opening);
    thread.postMessage({ type: "serve", id, path: opening.path } satisfies ToCell);
  };
  thread.onmessage = ({ data }: MessageEvent<FromCell>) => {
    if (data.type === "call") {
      const answer = (failed: boolean): void =>
        thread.postMessage({ type: "answer", call: data.call, failed } satisfies ToCell);
      callSink(openings.get(data.id)?.sink, data).then(
        () => answer(false),
        () => answer(true),
      );
    } else if (data.type === "counted") {
      writeSync(1, `${data.id} ${data.count}\n`);
      if (++counts === countsMax) thread.terminate();
    } else {
      openings.get(data.id)?.closed(data.how);
      openings.delete(data.id);
      restarts.push(
        rig.actors
          .settle(actor(data.id))
          .then(() => rig.actors.trim())
          .then(() => serve(data.id)),
      );
    }
  };
  for (const id of ["a", "b", "c", "d"]) await serve(id);
  await ended;
  over = true;
  await Promise.all(restarts);
  for (const opening of openings.values()) opening.closed("lost");
}

function callSink(sink: CommitSink | undefined, { what, payload }: FromCell & { type: "call" }): Promise<void> {
  if (sink === undefined) return Promise.reject(new Error("not open"));
  return what === "committed" ? sink.committed(payload ?? new Uint8Array(0)) : sink[what]();
}
