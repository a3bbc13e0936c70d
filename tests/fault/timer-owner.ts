// A process that owns a shard's index, for the fault tests: sets due times and acknowledges each on stdout only when
// `set` has resolved, and reports every delivery before its handler resolves.
import { writeSync } from "node:fs";
import { SystemClock } from "../../base/clock.ts";
import type { NodeId } from "../../base/ids.ts";
import { silentLogger } from "../../base/log.ts";
import { SystemRandom } from "../../base/random.ts";
import { shardId } from "../../runtime/placement/placement.ts";
import { Shard } from "../../runtime/shard/shard.ts";

const [directory = "", mode = "", count = "0"] = process.argv.slice(2);
const clock = new SystemClock();
const shard = await Shard.open({
  directory,
  shard: shardId(0),
  owner: "node-a" as NodeId,
  clock,
  random: new SystemRandom(),
  logger: silentLogger,
});

// Synchronous: a line that was said is in the pipe before anything that follows it can happen.
const say = (line: string): void => {
  writeSync(1, `${line}\n`);
};

if (mode === "set") {
  say("ready");
  for (let i = 0; i < Number(count); i++) {
    // Due soon, so that the killed process had begun to deliver some of them.
    void shard.wheel.set("alarm", `key-${i}`, clock.nowMs() + (i % 50)).then(() => say(`set key-${i}`));
    if (i % 20 === 19) await new Promise<void>((resolve) => setImmediate(resolve));
    if (i === 100) shard.wheel.register("alarm", ({ key }) => say(`fired ${key}`));
  }
} else {
  shard.wheel.register("alarm", ({ key }) => say(`fired ${key}`));
  say("ready");
}
