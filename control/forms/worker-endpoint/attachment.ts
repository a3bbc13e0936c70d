import type { AttachmentForm } from "../attachments.ts";
import { WORKER_ENDPOINT } from "../form-urls.ts";
import { parseWorkerEndpoint } from "./spec.ts";

/** WE-6, WD-20: whoever has an address must answer HTTP. */
export const workerEndpointAttachment: AttachmentForm = {
  form: WORKER_ENDPOINT,
  label: "a WorkerEndpoint",
  demands: (record) => [{ worker: parseWorkerEndpoint(record.spec).worker, need: { kind: "http" } }],
};
