import { expect, test } from "bun:test";
import type { InspectionFault } from "../../../runtime/workers/worker-runtime.ts";

const INSPECTION_FAULTS = {
  module_not_found: true,
  unsupported_media_type: true,
  module_invalid: true,
  module_syntax_error: true,
  module_evaluation_failed: true,
  default_export_invalid: true,
  inspection_timeout: true,
} as const satisfies Record<InspectionFault, true>;

/** Codes that are passed on and stand as a literal in no Form. */
const PASSED_ON = [
  "artifact_policy_refused",
  "artifact_digest_mismatch",
  "artifact_limit_exceeded",
  ...Object.keys(INSPECTION_FAULTS),
];

/** Codes of refusals, which belong to the Host API, and the one by which the schema library calls a rule of ours. */
const OTHERS = new Set(["invalid_spec", "dependency_conflict", "resource_busy", "capability_required", "custom"]);

test("WB-A3, HA-174: every code of a Form's Operation is published, and nothing else is", async () => {
  const used = new Set(PASSED_ON);
  for await (const path of new Bun.Glob("control/forms/**/*.ts").scan(".")) {
    const source = await Bun.file(path).text();
    for (const [, code = ""] of source.matchAll(/\bcode(?:: | = )"([a-z_]+)"/g)) used.add(code);
    for (const [, code = ""] of source.matchAll(/: "([a-z_]+_missing)"/g)) used.add(code);
  }
  const page = await Bun.file("docs/errors.md").text();
  const forms = page.slice(page.indexOf("## WorkerBundle"), page.indexOf("## Every Form"));
  const published = new Set([...forms.matchAll(/^\| `([a-z_]+)` \|/gm)].map(([, code = ""]) => code));
  const byName = (a: string, b: string): number => (a < b ? -1 : 1);
  expect([...published].sort(byName)).toEqual([...used].filter((code) => !OTHERS.has(code)).sort(byName));
});
