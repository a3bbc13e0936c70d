// Bundles over real sources and the real store: what is on disk decides, not what is remembered.
import { expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Sha256Hex } from "../../base/ids.ts";
import { WORKER_BUNDLE } from "../../control/forms/form-urls.ts";
import { acquisitionRig, bytesOf, digestOf, OTHER_SPACE, source, SPACE } from "../support/acquisition-rig.ts";
import { EdgeRig, succeeded, verdict } from "../support/edge-rig.ts";

const MAIN = bytesOf("export default { fetch: () => new Response('hi') };");
const DATA = bytesOf("\u0000\u0001 data");

/** The artifact at `origin` and the bytes behind each of its paths. */
function published(origin: string): { artifact: { url: string; sha256: Sha256Hex }; content: Map<string, Uint8Array> } {
  const files = [
    { path: "main.js", url: `${origin}/main.js`, sha256: digestOf(MAIN), mediaType: "application/javascript+module" },
    { path: "data.bin", url: `${origin}/data.bin`, sha256: digestOf(DATA), mediaType: "application/octet-stream" },
  ];
  const manifest = bytesOf(JSON.stringify({ entrypoint: "main.js", files }));
  const content = new Map([
    ["/manifest.json", manifest],
    ["/main.js", MAIN],
    ["/data.bin", DATA],
  ]);
  return { artifact: { url: `${origin}/manifest.json`, sha256: digestOf(manifest) }, content };
}

/** A source that serves `published` with a Content-Type that lies, until it is shut. */
async function publisher() {
  let open = true;
  let content = new Map<string, Uint8Array>();
  const server = await source((url) => {
    const bytes = open ? content.get(url.pathname) : undefined;
    const headers = { "content-type": "text/html; charset=utf-16" };
    return bytes === undefined ? new Response(null, { status: 404 }) : new Response(bytes.slice(), { headers });
  });
  const made = published(server.origin);
  content = made.content;
  const setOpen = (value: boolean): void => {
    open = value;
  };
  return {
    ...made,
    origin: server.origin,
    seen: server.seen,
    setOpen,
    [Symbol.asyncDispose]: server[Symbol.asyncDispose],
  };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

test("WB-1, WB-23, WB-31, WB-46, WB-47: exact bytes are kept, and only the manifest says what they are", async () => {
  await using from = await publisher();
  using held = await acquisitionRig({ allow: [from.origin] });
  using rig = new EdgeRig(held.acquirer);
  const bundle = await rig.made(WORKER_BUNDLE, { artifact: from.artifact });
  expect(bundle.observed).toMatchObject({ fileCount: 2, totalBytes: MAIN.length + DATA.length });
  expect(bundle.observed.files[1]).toMatchObject({ path: "data.bin", mediaType: "application/octet-stream" });
  expect(await held.acquirer.read(digestOf(DATA))).toEqual(DATA);
  expect(JSON.stringify(bundle.observed)).not.toContain("artifacts.test");
});

test("WB-25, WB-57: held bytes serve the Space they were granted to, with no server behind the URL", async () => {
  using held = await acquisitionRig();
  using rig = new EdgeRig(held.acquirer);
  const { artifact, content } = published("https://artifacts.test:1");
  for (const bytes of content.values()) {
    await held.store.put(digestOf(bytes), once(bytes), { bytesMax: 1_000_000, spaces: [OTHER_SPACE] });
  }
  expect(verdict(await rig.settled(rig.create(WORKER_BUNDLE, { artifact })))).toStartWith("failed none artifact_");
  for (const bytes of content.values()) {
    await held.store.put(digestOf(bytes), once(bytes), { bytesMax: 1_000_000, spaces: [SPACE] });
  }
  succeeded(await rig.settled(rig.create(WORKER_BUNDLE, { artifact })));
});

test("WB-50, WB-56, WB-A6: an update reads the disk; damage is repaired from the source, or shown", async () => {
  await using from = await publisher();
  using held = await acquisitionRig({ allow: [from.origin] });
  using rig = new EdgeRig(held.acquirer);
  const { uid, observed } = await rig.made(WORKER_BUNDLE, { artifact: from.artifact });
  const asked = from.seen.length;
  from.setOpen(false);
  succeeded(await rig.settled(rig.update(uid, { artifact: from.artifact })));
  expect(from.seen).toHaveLength(asked);

  const digest = digestOf(MAIN);
  const damage = (): Promise<void> =>
    writeFile(join(held.directory, "sha256", digest.slice(0, 2), digest), "export default 'something else'");
  await damage();
  from.setOpen(true);
  succeeded(await rig.settled(rig.update(uid, { artifact: from.artifact })));
  expect((await rig.resource(uid)).observed).toEqual(observed);
  expect(await held.acquirer.holds(digest, uid)).toBe(true);

  await damage();
  from.setOpen(false);
  const operation = await rig.settled(rig.update(uid, { artifact: from.artifact }));
  expect(verdict(operation)).toStartWith("failed partial artifact_");
  expect((await rig.resource(uid)).observed).toEqual({});
});

test("WB-52, WB-55, WB-58: each Resource keeps its own hold on shared content", async () => {
  await using from = await publisher();
  using held = await acquisitionRig({ allow: [from.origin] });
  using rig = new EdgeRig(held.acquirer);
  const first = await rig.made(WORKER_BUNDLE, { artifact: from.artifact });
  const second = await rig.made(WORKER_BUNDLE, { artifact: from.artifact });
  succeeded(await rig.settled(rig.delete(first.uid)));
  const digest = digestOf(MAIN);
  expect([await held.acquirer.holds(digest, first.uid), await held.acquirer.holds(digest, second.uid)]).toEqual([
    false,
    true,
  ]);
  expect(await held.acquirer.read(digest)).toEqual(MAIN);
});
