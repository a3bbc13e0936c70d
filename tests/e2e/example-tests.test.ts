// The tests that stand beside the examples, run like any other.
import { expect, test } from "bun:test";
import { Glob } from "bun";

const EXAMPLES = new URL("../../examples/", import.meta.url).pathname;
const paths = [...new Glob("**/*.test.ts").scanSync({ cwd: EXAMPLES, absolute: true })].filter(
  (path) => !path.includes("/node_modules/"),
);
for (const path of paths) await import(path);

test("the examples have tests", () => {
  expect(paths.map((path) => path.slice(EXAMPLES.length))).toContain("hello/worker.test.ts");
});
