import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { SystemClock } from "../../base/clock.ts";
import type { ResourceUid, Sha256Hex } from "../../base/ids.ts";
import { isSha256Hex } from "../../base/ids.ts";
import { SeededRandom } from "../../base/random.ts";
import { ArtifactStore } from "../../storage/artifacts/artifact-store.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const OWNER = "owner" as ResourceUid;

/** Let the child acknowledge some puts, then kill it at an instant of no meaning. The acknowledged digests. */
async function putUntilKilled(dir: string, seed: number, countMin: number): Promise<Sha256Hex[]> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "putting-child.ts"), dir, String(seed)], {
    stdout: "pipe",
    stderr: "inherit",
  });
  const random = new SeededRandom(seed);
  let output = "";
  let killed = false;
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    output += text;
    if (killed || output.split("\n").length <= countMin) continue;
    killed = true;
    // The spread of instants is what finds the window between two system calls.
    for (let turns = random.below(40); turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve));
    child.kill("SIGKILL");
  }
  await child.exited;
  expect(child.signalCode).toBe("SIGKILL");
  return output.split("\n").filter(isSha256Hex);
}

test("WB-43 WB-47 WB-56: after kill -9 during puts, what was acknowledged is held and no half blob is", async () => {
  using dir = temporaryDirectory();
  const acknowledged: Sha256Hex[] = [];
  for (let seed = 1; seed <= 6; seed++) {
    acknowledged.push(...(await putUntilKilled(dir.path, seed, 3 + seed * 2)));
    const store = await ArtifactStore.open(dir.path, { clock: new SystemClock() });
    for (const sha256 of acknowledged) expect(await store.holds(sha256, OWNER)).toBe(true);
    expect(readdirSync(join(dir.path, "incoming"))).toEqual([]);
    for (const folder of readdirSync(join(dir.path, "sha256"))) {
      for (const name of readdirSync(join(dir.path, "sha256", folder))) {
        const bytes = readFileSync(join(dir.path, "sha256", folder, name));
        expect(createHash("sha256").update(bytes).digest("hex")).toBe(name);
      }
    }
    store.close();
  }
  expect(acknowledged.length).toBeGreaterThan(18);
}, 60_000);
