import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import * as fc from "fast-check";
import { AtollError } from "../../../../base/errors.ts";
import type { ResourceUid, Sha256Hex, SpaceName } from "../../../../base/ids.ts";
import { SteppedClock } from "../../../../base/stepped-clock.ts";
import { ArtifactStore } from "../../../../storage/artifacts/artifact-store.ts";
import { temporaryDirectory } from "../../../support/temporary-directory.ts";

// The store against a model of a few lines, under random interleavings: steps of one group run at the same time.

const GRANT_MS = 1000;
const GRACE_MS = 100;
const CONTENTS = ["", "one", "two two"].map((text) => {
  const bytes = new TextEncoder().encode(text);
  return { bytes, sha256: createHash("sha256").update(bytes).digest("hex") as Sha256Hex };
});
const SPACES = ["a", "b"] as SpaceName[];
const OWNERS = ["r1", "r2"] as ResourceUid[];

const content = fc.nat({ max: CONTENTS.length - 1 });
const space = fc.constantFrom(...SPACES);
const owner = fc.constantFrom(...OWNERS);
const step = fc.oneof(
  fc.record({ do: fc.constant("upload" as const), content, space }),
  fc.record({ do: fc.constant("fetch" as const), content, space, owner }),
  fc.record({ do: fc.constant("pin" as const), content, space, owner }),
  fc.record({ do: fc.constant("release" as const), owner }),
  fc.record({ do: fc.constant("collect" as const) }),
  fc.record({ do: fc.constant("wait" as const), ms: fc.constantFrom(50, 100, 900, 1000) }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function* chunks(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 3) yield bytes.subarray(at, at + 3);
}

async function run(store: ArtifactStore, clock: SteppedClock, at: Step): Promise<unknown> {
  switch (at.do) {
    case "upload": {
      const { bytes, sha256 } = CONTENTS[at.content] as (typeof CONTENTS)[number];
      return await store.put(sha256, chunks(bytes), { bytesMax: 100, spaces: [at.space] });
    }
    case "fetch": {
      const { bytes, sha256 } = CONTENTS[at.content] as (typeof CONTENTS)[number];
      return await store.put(sha256, chunks(bytes), { bytesMax: 100, pin: { owner: at.owner, space: at.space } });
    }
    case "pin": {
      const { sha256 } = CONTENTS[at.content] as (typeof CONTENTS)[number];
      return await store.pinHeld(sha256, { owner: at.owner, space: at.space }, 100);
    }
    case "release":
      store.release(at.owner);
      return null;
    case "collect":
      return await store.collect(clock.nowMs());
    case "wait":
      await clock.advance(at.ms);
  }
  return null;
}

test("WB-55 WB-57 WB-58: what is pinned is held, what is held is true, and nothing is pinned without a right to it", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(step, { minLength: 1, maxLength: 3 }), { maxLength: 12 }), async (groups) => {
      using dir = temporaryDirectory();
      const clock = new SteppedClock();
      const store = await ArtifactStore.open(dir.path, { clock, grantMsMax: GRANT_MS, graceMs: GRACE_MS });
      /** Spaces that ever proved to have the bytes: nobody else may ever get a pin. */
      const proven = new Map<Sha256Hex, Set<SpaceName>>(CONTENTS.map(({ sha256 }) => [sha256, new Set()]));
      for (const group of groups) {
        for (const at of group) {
          if (at.do !== "upload" && at.do !== "fetch") continue;
          proven.get(CONTENTS[at.content]?.sha256 as Sha256Hex)?.add(at.space);
        }
        const results = await Promise.all(group.map((at) => run(store, clock, at)));
        for (const [i, at] of group.entries()) {
          if (at.do !== "pin" || results[i] === null) continue;
          const { sha256, bytes } = CONTENTS[at.content] as (typeof CONTENTS)[number];
          expect(results[i]).toBe(bytes.length);
          expect(proven.get(sha256)?.has(at.space)).toBe(true);
        }
        const releasedNow = group.some((at) => at.do === "release");
        for (const at of group) {
          // A fetch that no release of the same group could undo keeps its content, whatever else ran beside it.
          if (at.do !== "fetch" || releasedNow) continue;
          expect(await store.holds(CONTENTS[at.content]?.sha256 as Sha256Hex, at.owner)).toBe(true);
        }
        for (const { sha256, bytes } of CONTENTS) {
          const read = await store.read(sha256).catch((error: unknown) => {
            if (error instanceof AtollError && error.code === "artifact_unreachable") return null;
            throw error;
          });
          expect(read === null).toBe(store.byteSize(sha256) === null);
          if (read !== null) expect(read).toEqual(bytes);
          if (read === null) expect(await store.holds(sha256, OWNERS[0] as ResourceUid)).toBe(false);
        }
      }
      for (const each of OWNERS) store.release(each);
      await store.collect(clock.nowMs() + GRANT_MS);
      expect(CONTENTS.map(({ sha256 }) => store.byteSize(sha256))).toEqual([null, null, null]);
      store.close();
    }),
    { numRuns: 25 },
  );
});
