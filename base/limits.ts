// Bounds shared by several rooms, each with its requirement. A bound used by one module lives in that module.
import { invariant } from "./invariant.ts";

/** HA-20. */
export const INTEGER_MAX = Number.MAX_SAFE_INTEGER;
/** WB-14. */
export const MANIFEST_BYTES_MAX = 1_048_576;
/** WB-24. */
export const ARTIFACT_BYTES_MAX = 16_777_216;
export const BUNDLE_BYTES_MAX = 134_217_728;
/** WB-16. */
export const BUNDLE_FILES_MAX = 512;
/** WD-5. */
export const DEPLOYMENT_VERSIONS_MAX = 8;
export const WEIGHT_TOTAL = 10_000;
/** WD-41. */
export const RETIRE_AFTER_MS = 15 * 60_000;

invariant(MANIFEST_BYTES_MAX <= ARTIFACT_BYTES_MAX, "a manifest is stored like any artifact");
invariant(ARTIFACT_BYTES_MAX <= BUNDLE_BYTES_MAX, "one file fits into a bundle");
