import type { AttachmentForm } from "../attachments.ts";
import { WORKER_VERSION } from "../form-urls.ts";
import { parseWorkerVersion } from "./spec.ts";

/** WD-20, WD-A9: the target of any undeleted Version's service Binding must answer HTTP, whoever weights that Version. */
export const serviceBindingAttachment: AttachmentForm = {
  form: WORKER_VERSION,
  label: "a service Binding",
  demands: (record) =>
    parseWorkerVersion(record.spec).bindings.serviceBindings.map(({ target }) => ({
      worker: target,
      need: { kind: "http" },
    })),
};
