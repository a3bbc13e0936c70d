import { expect, test } from "bun:test";
import { ARTIFACT_BYTES_MAX } from "../../../../base/limits.ts";
import { StoreUpload } from "../../../../control/artifacts/store-upload.ts";
import { acquisitionRig, bytesOf, digestOf, OTHER_SPACE, OWNER, SPACE } from "../../../support/acquisition-rig.ts";
import { rejectionCode } from "../../../support/rejection.ts";

const CONTENT = bytesOf("export default {};");
const SHA256 = digestOf(CONTENT);

const stream = (bytes: Uint8Array<ArrayBuffer>): ReadableStream<Uint8Array> => new Blob([bytes]).stream();

test("WB-25: an upload is held for its Spaces, and the same upload again changes nothing", async () => {
  using rig = await acquisitionRig();
  const upload = new StoreUpload(rig.store);
  expect(await upload.put(SHA256, stream(CONTENT), { spaces: [SPACE] })).toEqual({ created: true, byteSize: 18 });
  expect(await upload.put(SHA256, stream(CONTENT), { spaces: [SPACE] })).toEqual({ created: false, byteSize: 18 });
  expect(await upload.find(SHA256, [SPACE])).toEqual({ byteSize: 18 });
  expect(await upload.find(SHA256, [OTHER_SPACE, SPACE])).toEqual({ byteSize: 18 });
  expect(await upload.find(SHA256, [OTHER_SPACE])).toBeNull();
  expect(await upload.find(SHA256, [])).toBeNull();
  expect(await upload.find(SHA256, null)).toEqual({ byteSize: 18 });
  expect(await upload.find(digestOf(bytesOf("other")), null)).toBeNull();
});

test("WB-57: who names the digest of held content but brings other bytes gets no use of it", async () => {
  using rig = await acquisitionRig();
  const upload = new StoreUpload(rig.store);
  await upload.put(SHA256, stream(CONTENT), { spaces: [SPACE] });
  for (const guess of [bytesOf(""), bytesOf("export default {}; ")]) {
    const put = upload.put(SHA256, stream(guess), { spaces: [OTHER_SPACE] });
    expect(await rejectionCode(put)).toBe("artifact_digest_mismatch");
  }
  expect(await upload.find(SHA256, [OTHER_SPACE])).toBeNull();
  expect(await rejectionCode(rig.acquire("https://artifacts.test:1/x", SHA256, { space: OTHER_SPACE }))).not.toBe(
    "artifact_digest_mismatch",
  );
  expect(await rig.acquirer.holds(SHA256, OWNER)).toBe(false);
});

test("WB-24: more than the largest artifact is refused while it arrives", async () => {
  using rig = await acquisitionRig();
  let pulled = 0;
  const chunk = new Uint8Array(1 << 20);
  const endless = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        pulled += chunk.length;
        controller.enqueue(chunk);
      },
    },
    { highWaterMark: 0 },
  );
  const put = new StoreUpload(rig.store).put(SHA256, endless, { spaces: [SPACE] });
  expect(await rejectionCode(put)).toBe("artifact_limit_exceeded");
  expect(pulled).toBeLessThanOrEqual(ARTIFACT_BYTES_MAX + chunk.length);
});
