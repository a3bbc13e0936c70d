// Puts blob after blob into the store at argv[2] and prints each digest once its put has resolved, until killed.
import { createHash } from "node:crypto";
import { SystemClock } from "../../base/clock.ts";
import type { ResourceUid, Sha256Hex, SpaceName } from "../../base/ids.ts";
import { SeededRandom } from "../../base/random.ts";
import { ArtifactStore } from "../../storage/artifacts/artifact-store.ts";

const [, , dir = "", seed = "0"] = process.argv;
const random = new SeededRandom(Number(seed));
const store = await ArtifactStore.open(dir, { clock: new SystemClock() });

async function* chunks(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 16_384) yield bytes.subarray(at, at + 16_384);
}

async function putForever(): Promise<never> {
  for (;;) {
    const bytes = new Uint8Array(random.below(200_000)).fill(random.below(256));
    bytes.set(random.bytes(Math.min(16, bytes.length)));
    const sha256 = createHash("sha256").update(bytes).digest("hex") as Sha256Hex;
    await store.put(sha256, chunks(bytes), {
      bytesMax: bytes.length,
      pin: { owner: "owner" as ResourceUid, space: "default" as SpaceName },
    });
    process.stdout.write(`${sha256}\n`);
  }
}

await Promise.all([putForever(), putForever(), putForever()]);
