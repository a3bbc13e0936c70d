import { bin, run } from "./commands.mjs";

const CHECKS = [
  { name: "types", command: "tsc", args: ["-p", "."] },
  // What authors write sees the types of a Worker and none of the host's.
  { name: "author types", command: "tsc", args: ["-p", "tests/types"] },
  { name: "lint", command: "oxlint", args: ["--type-aware", "--deny-warnings"] },
  { name: "format", command: "biome", args: ["format", "."] },
];

/** Run every check, also after one has failed. Resolves to how many passed and failed. */
export async function runChecks() {
  const counts = { passed: 0, failed: 0 };
  for (const { name, command, args } of CHECKS) {
    const code = await run(bin(command), args);
    counts[code === 0 ? "passed" : "failed"]++;
    console.log(`check ${name}: ${code === 0 ? "ok" : "failed"}`);
  }
  return counts;
}

/** Resolves to the exit code. */
export async function check() {
  const { failed } = await runChecks();
  return failed === 0 ? 0 : 1;
}

export function format() {
  return run(bin("biome"), ["format", "--write", "."]);
}
