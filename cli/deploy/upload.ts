import type { OperatorClient } from "../client/operator-client.ts";
import type { Manifest } from "./manifest.ts";
import type { WorkerFiles } from "./worker-files.ts";

const UPLOADS_AT_ONCE = 4;

/** Give the node every file it does not hold, the manifest last. `again` sends also what it holds. */
export async function uploadFiles(
  operator: OperatorClient,
  { files }: WorkerFiles,
  manifest: Manifest,
  how: { readonly space: string; readonly say: (line: string) => void; readonly again: boolean },
): Promise<void> {
  const waiting = [...new Map(files.map((file) => [file.sha256, file])).values()];
  const total = waiting.length;
  let sent = 0;
  const worker = async (): Promise<void> => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const fresh = await operator.upload(file.sha256, file.bytes, how.space, how.again);
      sent++;
      how.say(`${fresh ? "uploaded" : "present"} ${sent}/${total} ${file.path} (${sizeText(file.bytes.length)})`);
    }
  };
  await Promise.all(Array.from({ length: UPLOADS_AT_ONCE }, worker));
  await operator.upload(manifest.sha256, manifest.bytes, how.space, how.again);
}

function sizeText(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  if (bytes < 1_048_576) return `${(bytes / 1_024).toFixed(1)} KiB`;
  return `${(bytes / 1_048_576).toFixed(1)} MiB`;
}
