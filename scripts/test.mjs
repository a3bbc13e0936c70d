import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runChecks } from "./check.mjs";
import { BUN, ROOT, run } from "./commands.mjs";

/** A test says itself when it needs longer, in milliseconds. */
const TEST_MS_MAX = 30_000;

/**
 * Run the checks and all tests, or only the test files that `args` name. The last line on stdout is the sum of both,
 * `N passed, N failed`. Resolves to the exit code.
 */
export async function test(args) {
  const checks = args.length === 0 ? await runChecks() : { passed: 0, failed: 0 };
  const tests = await runTests(args);
  const passed = checks.passed + tests.passed;
  const failed = checks.failed + tests.failed;
  console.log(`${passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

async function runTests(args) {
  const directory = mkdtempSync(join(tmpdir(), "atoll-test-report-"));
  try {
    const report = join(directory, "junit.xml");
    const options = [`--timeout=${TEST_MS_MAX}`, "--reporter=junit", `--reporter-outfile=${report}`];
    const code = await run(BUN, ["test", ...options, ...args]);
    const counts = count(read(report), args.length === 0 ? testFiles() : []);
    // Whatever else made the run fail (a crash, an error between tests) must not end as a success.
    if (code !== 0 && counts.failed === 0) counts.failed++;
    return counts;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Test cases of a JUnit report. A file of `expected` that left no trace in it could not be run, which is a failure. */
function count(xml, expected) {
  const cases = xml.match(/<testcase\b/g)?.length ?? 0;
  const failures = xml.match(/<(?:failure|error)\b/g)?.length ?? 0;
  const skipped = xml.match(/<skipped\b/g)?.length ?? 0;
  const ran = new Set([...xml.matchAll(/<testsuite\b[^>]*\bfile="([^"]*)"/g)].map((match) => match[1]));
  const missing = expected.filter((file) => !ran.has(file));
  for (const file of missing) console.log(`no result from ${file}`);
  return { passed: cases - failures - skipped, failed: failures + missing.length };
}

function testFiles() {
  const names = readdirSync(join(ROOT, "tests"), { recursive: true, encoding: "utf8" });
  return names.filter((name) => name.endsWith(".test.ts")).map((name) => `tests/${name.replaceAll("\\", "/")}`);
}

function read(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
